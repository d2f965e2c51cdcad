package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// TestAwait: the first answer comes at once, the next when something has changed, and each has an outcome for every
// write, with its pods.
func TestAwait(t *testing.T) {
	w := newWorld(t)
	applied := w.apply("web", `{"image":"web:1"}`).Objects[0]
	w.running("web", "aaaaaaaa", false)
	w.running("other", "bbbbbbbb", true)
	asked := api.AwaitRequest{Objects: []api.Awaited{
		{Ref: applied.Ref, Revision: applied.Revision, Generation: applied.Generation},
		{Ref: ref("gone"), Gone: true}, {Ref: ref("never")},
	}}
	first, err := w.client.Await(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	states := func(r api.AwaitResult) (out [3]api.OutcomeState) {
		for i := range out {
			out[i] = r.Outcomes[i].State
		}
		return out
	}
	if got := states(first); got != [3]api.OutcomeState{api.OutcomePending, api.OutcomeConverged, api.OutcomeFailed} {
		t.Errorf("%v", got)
	}
	if pods := first.Outcomes[0].Pods; len(pods) != 1 || pods[0].Slot != "aaaaaaaa" {
		t.Errorf("pods %+v", pods)
	}
	asked.Since = first.Revision
	answers := make(chan api.AwaitResult, 1)
	go func() {
		next, err := w.client.Await(t.Context(), asked)
		if err != nil {
			t.Error(err)
		}
		answers <- next
	}()
	w.put(records.StatusKey(applied.Ref),
		api.WorkloadStatus{ObservedRevision: applied.Revision, Conditions: []api.Condition{
			{Type: api.ConditionReady, Status: api.ConditionTrue, Reason: api.ReasonConverged},
			{Type: api.ConditionProgressing, Status: api.ConditionFalse, Reason: api.ReasonComplete},
		}})
	if next := <-answers; next.Revision <= first.Revision || next.Outcomes[0].State != api.OutcomeConverged {
		t.Errorf("%+v", next)
	}
	asked.Since = 1 << 40
	if restored, err := w.client.Await(t.Context(), asked); err != nil || restored.Revision >= asked.Since {
		t.Errorf("a revision that an older store doesn't have is answered at once: %+v %v", restored, err)
	}
}

// TestAwaitIsBounded: a request names no more objects than an apply stores, and each once.
func TestAwaitIsBounded(t *testing.T) {
	w := newWorld(t)
	asked := func(n int) (out api.AwaitRequest) {
		for i := range n {
			out.Objects = append(out.Objects, api.Awaited{Ref: ref("web-" + strconv.Itoa(i))})
		}
		return out
	}
	send := func(request api.AwaitRequest) (*http.Response, string) {
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		return w.raw("POST", "/v1/await", "application/json", string(body))
	}
	if response, body := send(asked(api.MaxApplyObjects)); response.StatusCode != http.StatusOK {
		t.Errorf("as many as an apply stores: %s", body)
	}
	response, body := send(asked(api.MaxApplyObjects + 1))
	if problem := wantProblem(t, response, body, 400); !strings.Contains(problem.Detail, "2001 objects") {
		t.Errorf("one more: %s", body)
	}
	twice := asked(2)
	twice.Objects = append(twice.Objects, twice.Objects[0])
	response, body = send(twice)
	if problem := wantProblem(t, response, body, 400); !strings.Contains(problem.Detail, "deployment/prod/web-0") {
		t.Errorf("one twice: %s", body)
	}
	more, err := w.client.Await(t.Context(), asked(2*api.MaxApplyObjects+1))
	if err != nil || len(more.Outcomes) != 2*api.MaxApplyObjects+1 || more.Revision == 0 {
		t.Errorf("the client asks in parts: %d outcomes, %v", len(more.Outcomes), err)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	cut := httptest.NewRecorder()
	w.server.Handler(true).ServeHTTP(cut, httptest.NewRequestWithContext(ctx, "POST", "/v1/await",
		strings.NewReader(`{"objects":[{"kind":"deployment","scope":"prod","name":"web","revision":1}]}`)))
	if problem := wantProblem(t, cut.Result(), cut.Body.String(), 503); !strings.Contains(problem.Next, "cut off") {
		t.Errorf("a client that has gone: %+v", problem)
	}
}

// TestWaitsAreStreams: a wait for writes and one for a run have a place among the streams, and give it back.
func TestWaitsAreStreams(t *testing.T) {
	w := newWorld(t, func(o *server.Options) { o.MaxStreams = 2 })
	w.job("m-1", "aaaaaaaa", api.RunRunning, started)
	asked := api.AwaitRequest{Objects: []api.Awaited{{Ref: mail}}}
	answer, err := w.client.Await(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	asked.Since = answer.Revision
	ended := make(chan error, 2)
	go func() { _, err := w.client.Await(t.Context(), asked); ended <- err }()
	go func() { _, err := w.client.AwaitRun(t.Context(), mail, "m-1"); ended <- err }()
	w.untilOpen(`"wait"} 2`)
	for path, method := range map[string]string{"/v1/await": "POST", "/v1/runs/job/prod/mail/m-1?wait=true": "GET",
		"/v1/objects/job?watch=1": "GET"} {
		body := ""
		if method == "POST" {
			body = `{"objects":[]}`
		}
		response, text := w.raw(method, path, "application/json", body)
		wantProblem(t, response, text, 503)
	}
	w.run("m-1", "aaaaaaaa", api.RunSucceeded, started)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	w.untilOpen(`"wait"} 0`)
	if _, err := w.client.Await(t.Context(), api.AwaitRequest{Objects: asked.Objects}); err != nil {
		t.Errorf("the places are not free again: %v", err)
	}
}
