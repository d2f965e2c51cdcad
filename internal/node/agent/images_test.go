package agent_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store/records"
)

var web = api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: "web"}

func (l *harness) request(reference, nonce string) {
	l.t.Helper()
	l.commit(records.NewTxn("test").Put(records.ImageKey(web),
		api.ImageRequest{Owner: web, Image: reference, Nonce: nonce}))
	l.settle()
}

func (l *harness) answer() api.ImageStatus {
	if read := l.snapshot().ImageStatus(nodeID, web); read.Exists() {
		return *read.Value
	}
	return api.ImageStatus{}
}

func TestLocalImageIsResolvedAndFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		l.request(image, "")
		if got := l.answer(); got.State != api.ImagePresent || got.ImageID != l.imageID || got.Node != nodeID {
			t.Errorf("answer %+v", got)
		}
		moved := l.engine.Retag(image)
		l.settle()
		if got := l.answer(); got.ImageID != moved {
			t.Errorf("the tag moved to %s, the answer is %+v", moved, got)
		}
		l.commit(records.NewTxn("test").Delete(records.ImageKey(web)))
		l.settle()
		if got := l.answer(); got.Image != "" {
			t.Errorf("the request is gone, the answer stays: %+v", got)
		}
	})
}

func TestAbsentImageIsPulled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{PullDelay: hollow.Delay(3 * time.Second)})
		want := l.engine.PublishImage("far:1")
		l.start()
		defer l.close()
		l.request("far:1", "")
		l.pass(250 * time.Millisecond)
		if got := l.answer(); got.State != api.ImagePulling {
			t.Errorf("answer %+v", got)
		}
		l.pass(4 * time.Second)
		if got := l.answer(); got.State != api.ImagePresent || got.ImageID != want {
			t.Errorf("answer %+v", got)
		}
		if n := l.engine.Calls()["pull"]; n != 1 {
			t.Errorf("%d pulls", n)
		}
	})
}

// TestAnImageThatIsLostIsPulledAgain: an answer about a registry's image stays while the node has lost it, and the node
// pulls it again with the backoff of any other.
func TestAnImageThatIsLostIsPulledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{PullDelay: hollow.Delay(time.Second)})
		want := l.engine.PublishImage("far:1")
		l.start()
		defer l.close()
		l.request("far:1", "")
		l.pass(2 * time.Second)
		l.engine.FailPulls("far:1", errors.New("no route to host"))
		l.engine.RemoveImage("far:1")
		l.pass(time.Minute)
		if n := l.engine.Calls()["pull"]; n < 3 || n > 5 {
			t.Errorf("%d pulls in a minute", n)
		}
		if got := l.answer(); got.State != api.ImagePresent || got.ImageID != want {
			t.Errorf("answer %+v", got)
		}
		l.engine.FailPulls("far:1", nil)
		l.pass(5 * time.Minute)
		before := l.engine.Calls()["pull"]
		l.pass(time.Hour)
		if n := l.engine.Calls()["pull"]; n != before {
			t.Errorf("%d pulls of what is there again", n-before)
		}
	})
}

func TestFailedPullIsReportedAndRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.start()
		defer l.close()
		l.request("nowhere:1", "")
		got := l.answer()
		if got.State != api.ImageFailed || got.Reason != "ImageNotFound" || got.Message == "" || got.Attempts != 1 {
			t.Errorf("answer %+v", got)
		}
		l.pass(11 * time.Second)
		if got = l.answer(); got.Attempts != 2 {
			t.Errorf("after the rest of 10 s: %+v", got)
		}
		l.pass(time.Hour)
		before := l.engine.Calls()["pull"]
		l.pass(5*time.Minute + 10*time.Second)
		if now := l.engine.Calls()["pull"]; now < before+1 || now > before+2 {
			t.Errorf("%d pulls in 5 minutes, want one", now-before)
		}
		attempts := l.answer().Attempts
		l.request("nowhere:1", "again")
		if got = l.answer(); got.Attempts != 1 || l.engine.Calls()["pull"] == before+attempts {
			t.Errorf("another nonce tries at once: %+v", got)
		}
		l.engine.PublishImage("nowhere:1")
		l.request("nowhere:1", "and again")
		if got = l.answer(); got.State != api.ImagePresent || got.Reason != "" || got.Attempts != 0 {
			t.Errorf("once it is there: %+v", got)
		}
	})
}

func TestPlainPullFaultKeepsItsWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.engine.FailPulls("far:1", errors.New("connection reset in mid-layer"))
		l.start()
		defer l.close()
		l.request("far:1", "")
		if got := l.answer(); got.Reason != "PullFailed" || got.RetryAt.IsZero() {
			t.Errorf("answer %+v", got)
		}
	})
}

func TestPrunedImageIsPulledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{PullDelay: hollow.Delay(time.Second)})
		l.imageID = l.engine.PublishImage(image)
		l.engine.RemoveImage(image)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		other := l.deploy(taskID(2), nil)
		l.settle()
		l.want(task, api.TaskPreparing, false, "PullingImage")
		l.pass(2 * time.Second)
		l.want(task, api.TaskRunning, true, "")
		l.want(other, api.TaskRunning, true, "")
		if n := l.engine.Calls()["pull"]; n != 1 {
			t.Errorf("%d pulls of one reference at a time", n)
		}
	})
}

func TestPrunedImageThatIsGoneRejectsTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.engine.RemoveImage(image)
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), nil)
		l.settle()
		l.want(task, api.TaskRejected, false, "ImageNotFound")
		l.engine.PublishImage(image) // another one under the same tag
		second := l.deploy(taskID(2), nil)
		l.settle()
		l.want(second, api.TaskRejected, false, "ImageMoved")
		l.wantContainer(second, runtime.State(""))
	})
}

// TestAnAnswerIsForTheObjectThatAsked: an object is deleted and created again before the agent has seen either. The new
// object's pull starts at once, whatever the backoff of the old one's failures.
func TestAnAnswerIsForTheObjectThatAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t)
		l.engine.FailPulls("far:1", errors.New("no route to host"))
		l.start()
		defer l.close()
		ask := func(uid string) *records.Txn {
			return records.NewTxn("test").Put(records.ImageKey(web), api.ImageRequest{Owner: web, OwnerUID: uid, Image: "far:1"})
		}
		l.commit(ask("first"))
		l.pass(3 * time.Minute)
		if got := l.answer(); got.State != api.ImageFailed || got.OwnerUID != "first" || got.Attempts < 3 {
			t.Fatalf("answer %+v", got)
		}
		before := l.engine.Calls()["pull"]
		l.commit(ask("second"))
		l.settle()
		got := l.answer()
		if pulls := l.engine.Calls()["pull"] - before; got.OwnerUID != "second" || got.Attempts != 1 || pulls != 1 {
			t.Errorf("after %d pulls for the new object: %+v", pulls, got)
		}
	})
}

// TestALatePullIsNoAnswerToAnotherRequest: the pull of an earlier request fails while another image is pulled.
func TestALatePullIsNoAnswerToAnotherRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{PullDelay: hollow.Delay(3 * time.Second)})
		l.engine.FailPulls("gone:1", errors.New("no such repository"))
		want := l.engine.PublishImage("far:1")
		l.start()
		defer l.close()
		l.request("gone:1", "")
		l.pass(2 * time.Second)
		l.request("far:1", "")
		l.pass(1500 * time.Millisecond)
		if got := l.answer(); got.State != api.ImagePulling || got.Message != "" {
			t.Errorf("the failed pull of gone:1 counts for far:1: %+v", got)
		}
		l.pass(2 * time.Second)
		if got := l.answer(); got.State != api.ImagePresent || got.ImageID != want {
			t.Errorf("answer %+v", got)
		}
	})
}
