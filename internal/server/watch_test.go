package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// nextEvent returns the next event in the form that the tests compare.
func nextEvent(t *testing.T, w *client.Watch) string {
	t.Helper()
	event, err := w.Next()
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	return fmt.Sprintf("%s %s %d", event.Type, event.Object.Name, event.Object.Metadata.Generation)
}

func TestWatch(t *testing.T) {
	w := newWorld(t)
	w.apply("old", `{"image":"a"}`)
	watch := w.client.Watch(t.Context(), api.KindDeployment, client.WatchOptions{})
	defer watch.Close()
	want := []string{"put old 1", "put web 1", "put web 2", "put web 2", "put old 1", "delete old 0"}
	steps := []func(){
		func() {},
		func() { w.apply("web", `{"image":"a"}`) },
		func() { w.apply("web", `{"image":"b"}`) },
		func() { w.put(records.StatusKey(ref("web")), api.WorkloadStatus{Ready: 1}) },
		func() {
			if _, err := w.client.Delete(t.Context(), ref("old")); err != nil {
				t.Fatal(err)
			}
		},
		func() { w.delete(records.ObjectKey(ref("old"))) },
	}
	for i, step := range steps {
		step()
		if got := nextEvent(t, watch); got != want[i] {
			t.Fatalf("event %d: %s, want %s", i, got, want[i])
		}
	}
}

func TestWatchResumes(t *testing.T) {
	w := newWorld(t)
	first := w.apply("a", `{"image":"a"}`)
	w.apply("b", `{"image":"a"}`)
	w.apply("c", `{"image":"a"}`)
	watch := w.client.Watch(t.Context(), api.KindDeployment, client.WatchOptions{Since: first.Revision})
	defer watch.Close()
	for _, want := range []string{"put b 1", "put c 1"} {
		if got := nextEvent(t, watch); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if watch.Revision() != w.view.Revision() {
		t.Errorf("resumes from %d, want %d", watch.Revision(), w.view.Revision())
	}
}

func TestWatchIsGone(t *testing.T) {
	w := newWorld(t) // keeps 50 changes
	for i := range 60 {
		w.apply("web", fmt.Sprintf(`{"image":"web:%d"}`, i))
	}
	watch := w.client.Watch(t.Context(), api.KindDeployment, client.WatchOptions{Since: 1})
	defer watch.Close()
	_, err := watch.Next()
	if !client.IsGone(err) || !strings.Contains(err.Error(), "list again") {
		t.Errorf("got %v, want 410 with the next step", err)
	}
}

// TestWatchFromTheFuture: after a restore the server's revision is below the client's; silence would look like peace.
func TestWatchFromTheFuture(t *testing.T) {
	w := newWorld(t)
	first := w.apply("web", `{"image":"a"}`)
	watch := w.client.Watch(t.Context(), api.KindDeployment, client.WatchOptions{Since: first.Revision + 1000})
	defer watch.Close()
	_, err := watch.Next()
	if !client.IsGone(err) || !strings.Contains(err.Error(), fmt.Sprintf("at revision %d", w.view.Revision())) ||
		!strings.Contains(err.Error(), "list again") {
		t.Errorf("got %v, want 410 with the server's revision and the next step", err)
	}
}

func TestWatchSelects(t *testing.T) {
	w := newWorld(t)
	watch := w.client.Watch(t.Context(), api.KindDeployment,
		client.WatchOptions{ObjectFilter: client.ObjectFilter{Scope: "prod", Selector: "tier=front"}})
	defer watch.Close()
	labelled := func(name string, labels map[string]string) {
		object := deployment(name, `{"image":"x"}`)
		object.Metadata.Labels = labels
		if _, err := w.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{object}}); err != nil {
			t.Fatal(err)
		}
	}
	labelled("back", nil)
	labelled("front", map[string]string{"tier": "front"})
	if got := nextEvent(t, watch); got != "put front 1" {
		t.Errorf("%s", got)
	}
	labelled("front", map[string]string{"tier": "back"})
	if got := nextEvent(t, watch); got != "delete front 0" {
		t.Errorf("%s: an object that no longer matches is gone for this watch", got)
	}
}

func TestWatchAsServerSentEvents(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, "GET", w.http+"/v1/objects/deployment?watch", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "text/event-stream")
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	start := make([]byte, 12)
	if _, err := io.ReadFull(response.Body, start); err != nil || string(start) != "id: 0\ndata: " {
		t.Errorf("begins with %q, %v", start, err)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	w := newWorld(t, func(o *server.Options) { o.MaxStreams = 1 })
	w.apply("web", `{"image":"a"}`)
	first := w.client.Watch(t.Context(), api.KindDeployment, client.WatchOptions{})
	if _, err := first.Next(); err != nil {
		t.Fatal(err)
	}
	response, body := w.raw("GET", "/v1/objects/deployment?watch=1", "", "")
	wantProblem(t, response, body, 503)
	first.Close()
}

// TestStreamsOfOneToken: it may have a tenth of all streams, all tokens together leave a tenth, and a closed stream is
// free again.
func TestStreamsOfOneToken(t *testing.T) {
	w := newWorld(t, func(o *server.Options) { o.MaxStreams = 20 })
	w.apply("web", `{"image":"a"}`)
	const watch = "/v1/objects/deployment?watch=1"
	open := func(token string) *followed {
		f := w.follow(token, watch)
		f.until(`"web"`)
		return f
	}
	ann := w.person("ann", api.Viewer, time.Hour)
	open(ann)
	open(ann)
	response, body := w.ask(ann, "GET", watch, "")
	if problem := wantProblem(t, response, body, 429); !strings.Contains(problem.Detail, "the token ann has 2 watches") {
		t.Errorf("the third of one token: %s", body)
	}
	for n := range 8 {
		name := "bob-" + strconv.Itoa(n)
		of := w.person(name, api.Viewer, time.Hour)
		open(of)
		open(of)
	}
	cid := w.person("cid", api.Admin, time.Hour)
	response, body = w.ask(cid, "GET", watch, "")
	wantProblem(t, response, body, 503)
	open(token)
	open(token)
	response, body = w.ask(token, "GET", watch, "")
	wantProblem(t, response, body, 503)
	w.ask(token, "DELETE", "/v1/tokens/ann", "")
	w.untilOpen(`"watch"} 18`)
	open(cid)
}

func TestShutdownEndsStreams(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"a"}`)
	request, _ := http.NewRequestWithContext(t.Context(), "GET", w.http+"/v1/objects/deployment?watch=1", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := w.stop(); err != nil {
		t.Errorf("serve: %v", err)
	}
	rest, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(rest), "shutting down") {
		t.Errorf("the stream was not ended: %v, %s", err, rest)
	}
}
