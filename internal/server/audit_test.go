package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// fakeAuditor records the calls that it gets.
type fakeAuditor struct {
	mu             sync.Mutex
	calls, foreign []api.AuditData
	// bounded are the calls of RecordBounded.
	bounded []api.AuditData
}

func (a *fakeAuditor) Record(d api.AuditData) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, d)
}

func (a *fakeAuditor) RecordBounded(d api.AuditData) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls, a.bounded = append(a.calls, d), append(a.bounded, d)
}

func (a *fakeAuditor) RecordForeign(d api.AuditData) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.foreign = append(a.foreign, d)
}

// TestCallsAreAudited makes calls that are answered, refused, read only, or come without a token.
func TestCallsAreAudited(t *testing.T) {
	audit := &fakeAuditor{}
	w := newWorld(t, func(o *server.Options) { o.Auditor = audit })
	w.raw("POST", "/v1/apply", "application/json",
		`[{"kind":"job","scope":"prod","name":"web","spec":{"image":"a:1","env":{"P":"hunter2"}}}]`)
	w.raw("POST", "/v1/apply?dry_run=1", "application/json", `{"kind":"job","scope":"prod","name":"bad","spec":{}}`)
	w.raw("POST", "/v1/objects/deployment/prod/none/scale?replicas=2", "", "")
	w.raw("DELETE", "/v1/objects/job/prod/web", "", "")
	w.raw("POST", "/v1/nothing", "", "")
	w.raw("POST", "/v1/tokens", "application/json", `{"name":"alice","role":"viewer"}`)
	w.raw("POST", "/v1/tokens", "application/json", `{"name":"bob","role":"root"}`)
	w.raw("DELETE", "/v1/tokens/alice", "", "")
	w.raw("GET", "/v1/objects/job", "", "")
	w.raw("GET", "/v1/pods/none.1/exec", "", "")
	for range 3 {
		response, err := http.Post(w.http+"/v1/apply", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	audit.mu.Lock()
	defer audit.mu.Unlock()
	var got []string
	for _, c := range audit.calls {
		got = append(got, strings.TrimSpace(strings.Join([]string{c.Method, c.Path, http.StatusText(c.Status), c.Problem,
			string(c.Kind), c.Scope, c.Name, strings.Join(c.Objects, " ")}, "|")))
		if c.Actor == "" || strings.Contains(c.Actor+c.Path+c.Problem, "hunter2") {
			t.Errorf("the call is %+v", c)
		}
	}
	want := []string{
		"POST|/v1/apply|OK|||||job/prod/web", "POST|/v1/apply|Unprocessable Entity|Invalid||||job/prod/bad",
		"POST|/v1/objects/deployment/prod/none/scale|Not Found|NotFound|deployment|prod|none|", "DELETE|/v1/objects/job/prod/web|OK||job|prod|web|",
		"POST|/v1/nothing|Not Found|Not Found||||",
		"POST|/v1/tokens|OK|||||token/alice", "POST|/v1/tokens|Unprocessable Entity|Invalid||||token/bob", "DELETE|/v1/tokens/alice|OK|||||token/alice", "GET|/v1/pods/none.1/exec|Upgrade Required|Upgrade Required||||",
	}
	if !slices.Equal(got, want) {
		t.Errorf("audited are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(audit.foreign) != 3 || audit.foreign[0].Status != http.StatusUnauthorized {
		t.Errorf("without a token: %+v", audit.foreign)
	}
}

// TestCallsAreFiledByWhatTheyName: with the kind and the scope, also where the path or the answer says them; all
// objects of an apply; and with the id that the answer has.
func TestCallsAreFiledByWhatTheyName(t *testing.T) {
	audit := &fakeAuditor{}
	w := newWorld(t, func(o *server.Options) { o.Auditor = audit })
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprintf(`{"kind":"job","scope":"prod","name":"f%02d","spec":{"image":"a:1"}}`, i))
	}
	w.apply("web", `{"image":"a:1"}`)
	w.raw("POST", "/v1/apply", "application/json", "["+strings.Join(many, ",")+"]")
	for _, call := range []struct{ method, path string }{
		{"POST", "/v1/objects/-/-/web/scale?replicas=2"}, {"POST", "/v1/objects/deployments/prod/web/restart"},
		{"DELETE", "/v1/objects/deployments/prod/none"},
		{"POST", "/v1/objects/sync/_/shop/poll"}, {"POST", "/v1/objects/sink/_/on-call/test"},
		{"POST", "/v1/objects/lab/dev/course/extend?for=1h"},
		{"POST", "/v1/objects/node/-/n7/availability?availability=drained"}, {"POST", "/v1/nodes/tokens"},
		{"POST", "/v1/objects/cronjob/prod/nightly/run"},
	} {
		w.raw(call.method, call.path, "", "")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://tend/v1/objects/sync/-/shop/poll", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(api.HeaderRequestID, "build-77")
	response, _ := w.do(request)
	audit.mu.Lock()
	defer audit.mu.Unlock()
	var got []string
	for _, c := range audit.calls {
		got = append(got, strings.Trim(strings.Join([]string{string(c.Kind), c.Scope, c.Name}, "/"), "/"))
		if c.Request == "" {
			t.Errorf("%s %s has no id", c.Method, c.Path)
		}
	}
	want := []string{"", "", "deployment/prod/web", "deployment/prod/web", "deployment/prod/none", "sync/_/shop",
		"sink/_/on-call", "lab/dev/course", "node/_/n7", "", "cronjob/prod/nightly", "sync/_/shop"}
	if !slices.Equal(got, want) {
		t.Errorf("filed by\n%q\nwant\n%q", got, want)
	}
	if last := audit.calls[len(audit.calls)-1]; last.Request != "build-77" ||
		response.Header.Get(api.HeaderRequestID) != "build-77" {
		t.Errorf("the request is %q, the answer has %q", last.Request, response.Header.Get(api.HeaderRequestID))
	}
	if named := audit.calls[1].Objects; len(named) != 50 || named[49] != "job/prod/f49" ||
		audit.calls[1].MoreObjects != 0 {
		t.Errorf("an apply of 50 objects names %v", named)
	}
}

// TestPrunedObjectsAreFiled: an object that an apply prunes, or that the removal of a sync removes, is found in the
// audit by its name.
func TestPrunedObjectsAreFiled(t *testing.T) {
	audit := &fakeAuditor{}
	w := newWorld(t, func(o *server.Options) { o.Auditor = audit })
	for _, body := range []string{`[{"kind":"job","scope":"prod","name":"a","spec":{"image":"a:1"}},{"kind":"job","scope":"prod","name":"b","spec":{"image":"a:1"}}]`,
		`[{"kind":"job","scope":"prod","name":"a","spec":{"image":"a:1"}}]`} {
		if response, text := w.raw("POST", "/v1/apply?set=mine&prune=1", "application/json",
			body); response.StatusCode != http.StatusOK {
			t.Fatal(text)
		}
	}
	audit.mu.Lock()
	defer audit.mu.Unlock()
	if got := strings.Join(audit.calls[1].Objects, " "); got != "job/prod/a job/prod/b" {
		t.Errorf("the apply that prunes names %s", got)
	}
}

// TestNoCallIsLeftOut: each operation of the API but the reads is in the audit, however it is answered, with the caller
// and the caller's address.
func TestNoCallIsLeftOut(t *testing.T) {
	audit := &fakeAuditor{}
	w := newWorld(t, func(o *server.Options) {
		o.Auditor = audit
		o.Resume = func(context.Context, api.UnknownContainers) (api.ResumeResult, error) {
			return api.ResumeResult{}, errors.New("not paused")
		}
	})
	_, text := w.raw("GET", "/openapi.json", "", "")
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	var want []string
	parameter := regexp.MustCompile(`\{[^}]*\}`)
	for path, methods := range document.Paths {
		for method := range methods {
			method, path := strings.ToUpper(method), parameter.ReplaceAllString(path, "x")
			if method == "GET" || method == "HEAD" || path == "/v1/await" {
				continue
			}
			want = append(want, method+" "+path)
			w.raw(method, path, "application/json", "")
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.http+"/v1/apply", strings.NewReader("[]"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	w.do(request)
	audit.mu.Lock()
	defer audit.mu.Unlock()
	var got []string
	last := len(audit.calls) - 1
	for _, c := range audit.calls[:max(last, 0)] {
		got = append(got, c.Method+" "+c.Path)
		if c.Status == 0 || !strings.Contains(c.Actor, "(pid ") {
			t.Errorf("the call is %+v", c)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) < 20 {
		t.Errorf("audited are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if actor := audit.calls[last].Actor; !strings.HasPrefix(actor, "token from 127.0.0.1:") {
		t.Errorf("with a token over TCP it is %q", actor)
	}
}

// broken is a store whose commits panic.
type broken struct{ records.Committer }

func (broken) Commit(context.Context, store.Txn) (int64, error) { panic("a mistake") }

// TestCallsOfContainersAreBounded: of a container however they are answered, with its object; not those of people.
func TestCallsOfContainersAreBounded(t *testing.T) {
	audit := &fakeAuditor{}
	w, containers := newPluginWorld(t, nil, func(o *server.Options) { o.Auditor = audit })
	object := made("cache", "u1", "kv/prod/cache")
	w.put(records.ObjectKey(object.Ref()), object)
	own := containers + server.ContainerToken(mac, object)
	ask(t, "POST", own+"/config?scope=prod&name=cache", `{"A":"1"}`)
	ask(t, "POST", own+"/restart?kind=statefulset&scope=prod&name=other", "")
	w.raw("POST", "/v1/objects/statefulset/prod/cache/restart", "", "")
	audit.mu.Lock()
	defer audit.mu.Unlock()
	var got []string
	for _, c := range audit.bounded {
		got = append(got, fmt.Sprint(c.Actor, " ", c.Path, " ", c.Scope, "/", c.Name, " ", c.Status))
	}
	want := []string{
		"containers of statefulset/prod/cache /callback/config prod/cache 200",
		"containers of statefulset/prod/cache /callback/restart prod/other 403",
	}
	if !slices.Equal(got, want) || len(audit.calls) != 3 {
		t.Errorf("bounded are %q of %d calls, want %q", got, len(audit.calls), want)
	}
}

// TestACallbackThatPanicsIsAFailure: the audit has the answer that the caller gets, with its id.
func TestACallbackThatPanicsIsAFailure(t *testing.T) {
	audit := &fakeAuditor{}
	w, containers := newPluginWorld(t, nil, func(o *server.Options) {
		o.Auditor = audit
		view := o.View
		o.Verbs = verbs.New(verbs.Options{Store: broken{}, Reader: current{view}, Logger: slog.New(slog.DiscardHandler)})
	})
	object := made("cache", "u1", "kv/prod/cache")
	w.put(records.ObjectKey(object.Ref()), object)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, containers+server.ContainerToken(mac, object)+
		"/restart?kind=statefulset&scope=prod&name=cache", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	audit.mu.Lock()
	defer audit.mu.Unlock()
	if response.StatusCode != http.StatusInternalServerError || len(audit.calls) != 1 ||
		audit.calls[0].Status != http.StatusInternalServerError ||
		len(audit.bounded) != 1 || audit.calls[0].Request == "" ||
		audit.calls[0].Request != response.Header.Get(api.HeaderRequestID) {
		t.Errorf("the answer is %s, the audit has %+v", response.Status, audit.calls)
	}
}

// current reads what a view has.
type current struct{ view *view.View }

func (c current) Fresh(context.Context) (records.Snapshot, error) {
	return records.Snapshot{Reader: c.view.Snapshot()}, nil
}
