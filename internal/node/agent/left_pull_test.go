package agent_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store/records"
)

// TestPullsThatNobodyWantsEnd: a registry that never answers holds a place only while the image is wanted: by a
// request, or by a task.
func TestPullsThatNobodyWantsEnd(t *testing.T) {
	const places = 4 // the default of agent.Options.Pulls
	names := []string{"hangs:1", "hangs:2", "hangs:3", "hangs:4"}
	owner := func(image string) api.Ref {
		return api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: strings.Replace(image, ":", "-", 1)}
	}
	for name, tc := range map[string]struct {
		want, leave func(l *harness, image string, n int)
	}{
		"requests that go": {
			func(l *harness, image string, _ int) { l.requestFor(owner(image), image) },
			func(l *harness, image string, _ int) {
				l.commit(records.NewTxn("test").Delete(records.ImageKey(owner(image))))
			},
		},
		"requests that change": {
			func(l *harness, image string, _ int) { l.requestFor(owner(image), image) },
			func(l *harness, had string, _ int) { l.requestFor(owner(had), image) },
		},
		"tasks that go": {
			func(l *harness, image string, n int) { l.deployImage(n, image) },
			func(l *harness, _ string, n int) { l.raise(api.Task{ID: taskID(n)}, api.DesiredRemoved) },
		},
		"tasks that end": {
			func(l *harness, image string, n int) { l.deployImage(n, image) },
			func(l *harness, _ string, n int) { l.raise(api.Task{ID: taskID(n)}, api.DesiredShutdown) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hangs atomic.Bool
				l := newHarness(t, hollow.Options{PullDelay: func() time.Duration {
					if hangs.Load() {
						return 24 * time.Hour
					}
					return time.Second
				}})
				hangs.Store(true)
				l.engine.PublishImage("far:1")
				l.start()
				defer l.close()
				for n, image := range names {
					tc.want(l, image, n)
				}
				l.settle()
				hangs.Store(false)
				l.request("far:1", "")
				l.pass(time.Hour)
				if n := l.engine.Calls()["pull"]; n != places || l.answer().State != api.ImagePulling {
					t.Fatalf("%d pulls while all places are held, %+v", n, l.answer())
				}
				for n, image := range names {
					tc.leave(l, image, n)
				}
				l.pass(3 * time.Second)
				if got := l.answer(); got.State != api.ImagePresent {
					t.Errorf("answer %+v", got)
				}
			})
		})
	}
}

// requestFor requests an image for an owner.
func (l *harness) requestFor(owner api.Ref, image string) {
	l.t.Helper()
	l.commit(records.NewTxn("test").Put(records.ImageKey(owner), api.ImageRequest{Owner: owner, Image: image}))
	l.settle()
}

// deployImage stores a task of an image that only a registry has.
func (l *harness) deployImage(n int, image string) {
	l.t.Helper()
	had := l.imageID
	l.imageID = ""
	l.deploy(taskID(n), func(_ *api.Task, s *api.DeploymentSpec) { s.Image = image })
	l.imageID = had
	l.settle()
}

// TestAPullGoesOnForTheRest: those who still want it get it; and who wants it again after the last has left gets
// another pull.
func TestAPullGoesOnForTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, hollow.Options{PullDelay: hollow.Delay(10 * time.Second)})
		l.engine.PublishImage("far:1")
		l.start()
		defer l.close()
		other := api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: "other"}
		l.request("far:1", "")
		l.requestFor(other, "far:1")
		l.commit(records.NewTxn("test").Delete(records.ImageKey(other)))
		l.pass(11 * time.Second)
		if got := l.answer(); got.State != api.ImagePresent || l.engine.Calls()["pull"] != 1 {
			t.Errorf("%d pulls, answer %+v", l.engine.Calls()["pull"], got)
		}
		l.engine.PublishImage("far:2")
		l.request("far:2", "")
		l.request("far:1", "")
		l.request("far:2", "")
		l.pass(time.Second)
		if got := l.answer(); got.State != api.ImagePulling {
			t.Errorf("answer %+v", got)
		}
		l.pass(10 * time.Second)
		if got := l.answer(); got.State != api.ImagePresent || l.engine.Calls()["pull"] != 3 {
			t.Errorf("%d pulls, answer %+v", l.engine.Calls()["pull"], got)
		}
	})
}
