package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/store/records"
)

// TestRefusals covers every way a request can be wrong.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"web:1"}`)
	w.running("web", "aaaaaaaa", true)
	w.put(records.ObjectKey(api.Ref{Kind: api.KindDeployment, Scope: "staging", Name: "web"}),
		api.Object{Kind: api.KindDeployment, Scope: "staging", Name: "web", Spec: []byte(`{}`)})
	const manifest = `{"kind":"deployment","scope":"prod","name":"x","spec":{"image":"x"}}`
	cases := map[string]struct {
		method, path, contentType, body string
		want                            int
		says                            string
	}{
		"unknown path":  {"GET", "/v1/nothing", "", "", 404, "/v1/nothing"},
		"root":          {"GET", "/", "", "", 404, ""},
		"wrong method":  {"PUT", "/v1/apply", "", "", 405, "PUT"},
		"empty apply":   {"POST", "/v1/apply", "application/json", "", 422, "nothing to apply"},
		"empty prune":   {"POST", "/v1/apply?prune=1&set=s", "application/json", "  ", 422, "prune"},
		"broken json":   {"POST", "/v1/apply", "application/json", `{"kind":`, 400, "nothing was stored"},
		"trailing json": {"POST", "/v1/apply", "application/json", manifest + "x", 400, ""},
		"unknown field": {"POST", "/v1/apply", "application/json",
			strings.Replace(manifest, "image", "imagee", 1), 400, "imagee"},
		"bad name": {"POST", "/v1/apply", "application/json",
			strings.Replace(manifest, `"x"`, `"X_"`, 1), 422, "X_"},
		"content type":         {"POST", "/v1/apply", "text/html", manifest, 415, "text/html"},
		"misspelled parameter": {"POST", "/v1/apply?dryrun=1", "application/json", manifest, 400, "dryrun"},
		"bad boolean":          {"POST", "/v1/apply?dry_run=perhaps", "application/json", manifest, 400, "dry_run"},
		"twice":                {"POST", "/v1/apply?set=a&set=b", "application/json", manifest, 400, "set"},
		"bad escape":           {"POST", "/v1/apply?set=%zz", "application/json", manifest, 400, "query"},
		"unknown kind":         {"GET", "/v1/objects/potato", "", "", 404, "potato"},
		"bad selector":         {"GET", "/v1/objects/deployment?selector==x", "", "", 400, "selector"},
		"since without watch":  {"GET", "/v1/objects/deployment?since=5", "", "", 400, "watch"},
		"negative since":       {"GET", "/v1/objects/deployment?watch=1&since=-1", "", "", 400, "since"},
		"missing object":       {"GET", "/v1/objects/deployment/prod/none", "", "", 404, "deployment/prod/none"},
		"parameter of get":     {"GET", "/v1/objects/deployment/prod/web?x=1", "", "", 400, "x"},
		"delete missing":       {"DELETE", "/v1/objects/deployment/prod/none", "", "", 404, "none"},
		"delete with a typo":   {"DELETE", "/v1/objects/deployment/prod/web?prun=1", "", "", 400, "prun"},
		"scale without count":  {"POST", "/v1/objects/-/prod/web/scale", "", "", 400, "replicas"},
		"scale by words":       {"POST", "/v1/objects/-/prod/web/scale?replicas=many", "", "", 400, "replicas"},
		"scale below nothing":  {"POST", "/v1/objects/-/prod/web/scale?replicas=-1", "", "", 422, "-1"},
		"scale nothing":        {"POST", "/v1/objects/-/-/-/scale?replicas=1", "", "", 404, "there is no"},
		"ambiguous":            {"POST", "/v1/objects/-/-/web/restart", "", "", 400, "deployment/staging/web"},
		"node of a scope": {"POST", "/v1/objects/node/prod/n7/availability?availability=drained", "", "", 400,
			"is in no scope"},
		"drained in a scope": {"POST", "/v1/objects/-/nowhere/n7/availability?availability=drained", "", "", 400,
			"is in no scope"},
		"tested in a scope":     {"POST", "/v1/objects/sink/prod/on-call/test", "", "", 400, "is in no scope"},
		"restart unknown":       {"POST", "/v1/objects/-/-/none/restart", "", "", 404, "none"},
		"rollback, no releases": {"POST", "/v1/objects/-/prod/web/rollback", "", "", 404, "no release"},
		"releases of unknown":   {"GET", "/v1/releases?name=none", "", "", 404, "none"},
		"pods with a typo":      {"GET", "/v1/pods?scop=prod", "", "", 400, "scop"},
		"pods of no kind":       {"GET", "/v1/pods?kind=potato", "", "", 404, "potato"},
		"unknown pod":           {"GET", "/v1/pods/prod-web.zzzzzzzz", "", "", 404, "prod-web.zzzzzzzz"},
		"mistyped pod":          {"GET", "/v1/pods/prod-web.aaaaaaab", "", "", 404, "did you mean prod-web.aaaaaaaa?"},
		"former pod": {"GET", "/v1/pods/prod-web.12345678", "", "", 404,
			"`tend get pods prod/web` lists those there are"},
		"mistyped kind":       {"GET", "/v1/objects/deploymnt", "", "", 404, `did you mean \"deployment\"?`},
		"mistyped object":     {"GET", "/v1/objects/deployment/prod/wbe", "", "", 404, "did you mean deployment/prod/web?"},
		"nameless pod":        {"GET", "/v1/pods/x", "", "", 404, "x"},
		"unknown pod's ready": {"GET", "/v1/pods/x/ready", "", "", 404, "x"},
		"unknown pod's logs":  {"GET", "/v1/pods/x/logs", "", "", 404, "x"},
		"bad tail":            {"GET", "/v1/pods/prod-web.aaaaaaaa/logs?tail=few", "", "", 400, "tail"},
		"since no year": {"GET", "/v1/pods/prod-web.aaaaaaaa/logs?since=9999-12-31T23:59:59-12:00",
			"", "", 400, "since"},
		"bad since":        {"GET", "/v1/pods/prod-web.aaaaaaaa/logs?since=yesterday", "", "", 400, "since"},
		"no container yet": {"GET", "/v1/pods/prod-web.aaaaaaaa/logs", "", "", 404, ""},
		"logs of nothing":  {"GET", "/v1/logs", "", "", 400, "object"},
		"exec by curl": {"POST", "/v1/pods/prod-web.aaaaaaaa/exec", "application/json",
			`{"command":["ls"]}`, 426, "WebSocket"},
		"start unknown": {"POST", "/v1/pods/x/start", "", "", 404, "x"},
		"verb twice": {"POST", "/v1/objects/deployment/prod/x/scale?replicas=1&replicas=2", "", "", 400,
			"is given 2 times"},
		"config without scope": {"GET", "/v1/config", "", "", 400, "scope"},
		"config of bad key":    {"POST", "/v1/config?scope=prod", "application/json", `{"set":{"A-B":"1"}}`, 422, "A-B"},
		"config of bad scope":  {"POST", "/v1/config?scope=../x", "application/json", `{"set":{"A":"1"}}`, 422, "can't be a scope"},
		"config unset missing": {"POST", "/v1/config?scope=prod", "application/json", `{"unset":["A"]}`, 404, "A"},
		"config unknown field": {"POST", "/v1/config?scope=prod", "application/json", `{"sett":{"A":"1"}}`, 400, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := w.view.Revision()
			response, body := w.raw(tc.method, tc.path, tc.contentType, tc.body)
			wantProblem(t, response, body, tc.want)
			if !strings.Contains(body, tc.says) {
				t.Errorf("%q is not said: %s", tc.says, body)
			}
			if tc.want == 405 && response.Header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
			if w.view.Revision() != before {
				t.Error("a refused request wrote")
			}
		})
	}
}

func TestBodyLimit(t *testing.T) {
	w := newWorld(t)
	response, body := w.raw("POST", "/v1/apply", "application/json", strings.Repeat(" ", api.MaxApplyBytes+1))
	wantProblem(t, response, body, http.StatusRequestEntityTooLarge)
	response, body = w.raw("POST", "/v1/config?scope=prod", "application/json", `{"set":{"A":"`+
		strings.Repeat("x", 2<<20)+`"}}`)
	wantProblem(t, response, body, http.StatusRequestEntityTooLarge)
}

func TestApplyRoundTrip(t *testing.T) {
	w := newWorld(t)
	yaml := "kind: deployment\nscope: prod\nname: web\nmetadata:\n  labels: {tier: front}\nspec:\n  image: web:1\n  replicas: 2\n"
	result, err := w.client.ApplyBody(t.Context(), []byte(yaml), "application/yaml", api.ApplyRequest{Set: "mine"})
	if err != nil || result.Objects[0].Action != api.ActionCreated || result.Revision == 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	w.put(records.StatusKey(ref("web")), api.WorkloadStatus{ObservedGeneration: 1, Replicas: 2, Release: "v1"})
	object, err := w.client.Object(t.Context(), ref("web"))
	if err != nil {
		t.Fatal(err)
	}
	status, err := api.DecodeStatus[api.WorkloadStatus](object)
	if err != nil || status.Replicas != 2 || object.Metadata.Stamps[api.StampApplySet] != "mine" ||
		object.Metadata.Revision != result.Revision {
		t.Errorf("read back %+v with status %+v, %v", object, status, err)
	}
	w.apply("db", `{"image":"db:1"}`)
	for selector, want := range map[string]int{"": 2, "tier=front": 1, "tier": 1, "!tier": 1, "tier!=front": 1,
		"tier=front,x": 0, "tier=back": 0} {
		list, err := w.client.Objects(t.Context(), api.KindDeployment, client.ObjectFilter{Selector: selector})
		if err != nil || len(list.Items) != want || list.Revision == 0 {
			t.Errorf("selector %q: %d objects at %d, %v; want %d", selector, len(list.Items), list.Revision, err, want)
		}
	}
	if list, _ := w.client.Objects(t.Context(), api.KindDeployment,
		client.ObjectFilter{Scope: "none"}); list.Items == nil || len(list.Items) != 0 {
		t.Errorf("an empty listing is %v, want an empty list", list.Items)
	}

	dry, err := w.client.Apply(t.Context(),
		api.ApplyRequest{Objects: []api.Object{deployment("api", `{"image":"x"}`)}, DryRun: true, Prune: true, Set: "mine"})
	if err != nil || !dry.DryRun || len(dry.Pruned) != 1 || !dry.Changed() {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	deleted, err := w.client.Delete(t.Context(), ref("web"))
	if err != nil || deleted.Already {
		t.Errorf("delete: %+v, %v", deleted, err)
	}
	again, err := w.client.Delete(t.Context(), ref("web"))
	if err != nil || !again.Already || !again.DeletedAt.Equal(deleted.DeletedAt) {
		t.Errorf("delete again: %+v, %v", again, err)
	}
	_, err = w.client.ApplyBody(t.Context(), []byte(yaml), "application/yaml", api.ApplyRequest{})
	if !client.IsConflict(err) || !strings.Contains(err.Error(), "wait until it is gone") {
		t.Errorf("apply onto a going object: %v", err)
	}
}

func TestConcurrentAppliesOverHTTP(t *testing.T) {
	w := newWorld(t)
	const clients, each = 4, 8
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			for n := range each {
				spec := fmt.Sprintf(`{"image":"web:%d-%d"}`, i, n)
				_, err := w.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{deployment("web", spec)}})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	object, err := w.client.Object(t.Context(), ref("web"))
	if err != nil || object.Metadata.Generation != clients*each {
		t.Errorf("generation %d, %v; want %d", object.Metadata.Generation, err, clients*each)
	}
}

func TestVerbs(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"web:2","replicas":2}`)
	target := client.TargetOf(ref("web"))
	for i, image := range []string{"web:1", "web:2"} {
		id := fmt.Sprintf("v%d", i+1)
		w.put(records.ReleaseKey(ref("web"), id), api.Release{ID: id, Number: i + 1, Kind: api.KindDeployment, Scope: "prod",
			Name: "web", Spec: json.RawMessage(`{"image":"` + image + `"}`), SpecHash: image, Image: image, ImageID: "sha256:" +
				image, CreatedAt: started})
	}
	w.put(records.StatusKey(ref("web")),
		api.WorkloadStatus{Release: "v2", Rollout: &api.RolloutStatus{TargetRelease: "v2", LastGoodRelease: "v1"}})
	w.running("web", "aaaaaaaa", true)

	releases, err := w.client.Releases(t.Context(), target)
	if err != nil || len(releases.Items) != 2 || !releases.Items[0].Current || !releases.Items[1].Good ||
		releases.Items[1].Pods != 1 {
		t.Errorf("releases: %+v, %v", releases, err)
	}
	scaled, err := w.client.Scale(t.Context(), target, 5)
	if err != nil || !scaled.Changed || *scaled.PreviousReplicas != 2 || scaled.Generation != 2 {
		t.Errorf("scale: %+v, %v", scaled, err)
	}
	if again, err := w.client.Scale(t.Context(), target, 5); err != nil || again.Changed || again.Generation != 2 {
		t.Errorf("scale to the same: %+v, %v", again, err)
	}
	back, err := w.client.Rollback(t.Context(), target, "")
	if err != nil || back.Release != "v1" || back.Generation != 3 {
		t.Errorf("rollback: %+v, %v", back, err)
	}
	object, _ := w.client.Object(t.Context(), ref("web"))
	if diff := cmp.Diff(`{"image":"web:1","replicas":5}`, string(object.Spec)); diff != "" ||
		object.Metadata.Stamps[api.StampRollback] != "v1" {
		t.Errorf("after the rollback: stamps %v, spec %s", object.Metadata.Stamps, diff)
	}
	restarted, err := w.client.Restart(t.Context(), client.Target{Name: "web"})
	if err != nil || restarted.Restart != "1" || restarted.Generation != 3 {
		t.Errorf("restart: %+v, %v", restarted, err)
	}
	if _, err := w.client.Rollback(t.Context(), target, "v9"); !client.IsNotFound(err) ||
		!strings.Contains(err.Error(), "v1, v2") {
		t.Errorf("rollback to an unknown release: %v", err)
	}
}

func TestAValueIsReadByItsKeyAlone(t *testing.T) {
	w := newWorld(t)
	result, err := w.client.SetConfig(t.Context(), "prod", "web",
		api.ConfigRequest{Set: map[string]string{"PASSWORD": "hunter2", "B": "2"}})
	if err != nil || !cmp.Equal(result.Keys, []string{"B", "PASSWORD"}) {
		t.Fatalf("%+v, %v", result, err)
	}
	for record := range w.view.Snapshot().Prefix("/") {
		if text, ok := record.Value.([]byte); ok && strings.Contains(string(text), "hunter2") {
			t.Errorf("%s holds the value in the clear", record.Key)
		}
	}
	_, body := w.raw("GET", "/v1/config?scope=prod&name=web", "", "")
	if strings.Contains(body, "hunter2") || !strings.Contains(body, "PASSWORD") {
		t.Errorf("config answers %s", body)
	}
	if value, err := w.client.ConfigValue(t.Context(), "prod", "web", "PASSWORD"); err != nil || value != "hunter2" {
		t.Errorf("asked for by its key: %q, %v", value, err)
	}
	if _, err := w.client.ConfigValue(t.Context(), "prod", "web", "NONE"); !client.IsNotFound(err) {
		t.Errorf("a key that isn't there: %v", err)
	}
	_, err = w.client.SetConfig(t.Context(), "prod", "web",
		api.ConfigRequest{Set: map[string]string{"C": "3"}}, client.NoRestart)
	if err == nil || !strings.Contains(err.Error(), "restart=false") {
		t.Errorf("quiet, on a server that can't: %v", err)
	}
	result, err = w.client.SetConfig(t.Context(), "prod", "web", api.ConfigRequest{Unset: []string{"B"}})
	if err != nil || !cmp.Equal(result.Keys, []string{"PASSWORD"}) {
		t.Errorf("unset: %+v, %v", result, err)
	}
	if other, _ := w.client.ConfigKeys(t.Context(), "prod", ""); len(other.Keys) != 0 {
		t.Errorf("the scope's bucket has the app's keys: %v", other.Keys)
	}
}
