package server_test

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// compatible is a plugin as users have them: its commands call the server back by curl. The test makes those calls for
// it while it runs.
const compatible = `case "$1" in
fail) echo '{"status":"error","error":"no such cache"}' >&2; exit 1;;
text) echo plain;;
env) echo "{\"status\":\"ok\",\"data\":{\"set\":\"$VOODU_APP\",\"dir\":\"$VOODU_PLUGIN_DIR\",\"stdin\":\"$(cat)\"}}";;
bad) echo '{"status":"ok","data":{"actions":[{"type":"delete_manifest","kind":"potato","scope":"prod","name":"x"}]}}';;
*) echo '{"status":"ok","data":{"message":"done","actions":[{"type":"config_set","scope":"prod","name":"web","kv":{"A":"1"}}]}}';;
esac`

// This covers every path, query, body, status and answer that existing plugins are known to use. The rows are those of
// docs/conformance.md, "The plugin protocol".
func TestCallbackRoutes(t *testing.T) {
	endpoint := newFifos(t)
	w, _ := newPluginWorld(t, map[string]string{"kv/bin/wait": endpoint.printsURLAndWaits(), "old/plugin.yml": "",
		"old/bin/go": `exec "$VOODU_PLUGIN_DIR/run" "$@"`, "old/run": compatible})
	for _, object := range []api.Object{made("cache", "u1", "kv/prod/cache"), made("gone", "u2", "kv/prod/gone")} {
		w.put(records.ObjectKey(object.Ref()), object)
	}
	task := api.Task{ID: "t0", Kind: api.KindStatefulSet, Scope: "prod", Name: "cache", Slot: "0", Node: "n1",
		Desired: api.DesiredRunning}
	w.put(records.TaskKey(task.ID), task)
	w.put(records.SlotKey(api.Ref{Kind: task.Kind, Scope: task.Scope, Name: task.Name}, "0"), task.ID)
	done := make(chan error, 1)
	go func() { _, err := w.client.CallPlugin(t.Context(), "kv", "wait", []string{"prod/cache"}); done <- err }()
	url := endpoint.open(t)
	for _, c := range []struct {
		row, method, path, body string
		status                  int
		part                    string
	}{
		{"H1 describe", "GET", "/describe?kind=statefulset&scope=prod&name=cache", "", 200,
			`{"manifest":{"kind":"statefulset","scope":"prod","name":"cache","spec":{"_asset_digests":`},
		{"H1 describe, its parts", "GET", "/describe?kind=statefulset&scope=prod&name=cache", "", 200, `"status":`},
		{"H1 describe, its pods", "GET", "/describe?kind=statefulset&scope=prod&name=cache", "", 200,
			`"pods":[{"name":"prod-cache.0","kind":"statefulset","scope":"prod","resource_name":"cache","replica_id":"0",`},
		{"H1 describe, no pods", "GET", "/describe?kind=statefulset&scope=prod&name=gone", "", 200, `"pods":[]`},
		{"H1 describe without a kind", "GET", "/describe?scope=prod&name=cache", "", 200, `"kind":"statefulset"`},
		{"H1 describe without a name", "GET", "/describe?kind=statefulset&scope=prod", "", 400, "add name="},
		{"H1 describe what isn't there", "GET", "/describe?kind=statefulset&scope=prod&name=none", "", 404, ""},
		{"H2 config of nothing", "GET", "/config?scope=prod&name=cache", "", 200, `{"vars":{}}`},
		{"H3 set", "POST", "/config?scope=prod&name=cache", `{"A":"1","B":"2"}`, 200, ""},
		{"H3 set more", "POST", "/config?scope=prod&name=cache", `{"C":"3"}`, 200, ""},
		{"H3 set of a scope", "POST", "/config?scope=prod", `{"S":"1","A":"scope"}`, 200, ""},
		{"H3 no bucket", "POST", "/config", `{"A":"1"}`, 400, "add scope="},
		{"H3 no JSON", "POST", "/config?scope=prod&name=cache", "A=1", 400, "can't be read"},
		{"H3 too long", "POST", "/config?scope=prod&name=cache", `{"A":"` + strings.Repeat("x", 1<<20) +
			`"}`, 413, "larger than"},
		{"H2 merged", "GET", "/config?scope=prod&name=cache", "", 200, `{"vars":{"A":"1","B":"2","C":"3","S":"1"}}`},
		{"H2 its own alone", "GET", "/config?scope=prod&name=cache&merge=false", "", 200,
			`{"vars":{"A":"1","B":"2","C":"3"}}`},
		{"H2 a scope's", "GET", "/config?scope=prod", "", 200, `{"vars":{"A":"scope","S":"1"}}`},
		{"H2 one key", "GET", "/config?scope=prod&name=cache&key=B", "", 200, `{"B":"2"}`},
		{"H2 no such key", "GET", "/config?scope=prod&name=cache&key=Z", "", 404, "no key"},
		{"H4 unset", "DELETE", "/config?scope=prod&name=cache&key=C", "", 200, ""},
		{"H4 unset what isn't there", "DELETE", "/config?scope=prod&name=cache&key=C", "", 200, ""},
		{"H4 no key", "DELETE", "/config?scope=prod&name=cache", "", 400, "add key="},
		{"H5 an ordinal with its volumes", "DELETE", "/resource?scope=prod&name=cache&ordinal=0&prune=true", "", 200,
			`{"scope":"prod","name":"cache","ordinal":0,"action":"rebootstrap","summary":{"container_removed":true,"volumes_removed":[`},
		{"H5 an ordinal that isn't there", "DELETE", "/resource?scope=prod&name=cache&ordinal=7", "",
			404, "has no ordinal 7"},
		{"H5 no ordinal at all", "DELETE", "/resource?scope=prod&name=cache&ordinal=one", "", 400, "not a number"},
		{"H6 everything of a name", "DELETE", "/resource?scope=prod&name=gone&prune=true", "", 200,
			`{"scope":"prod","name":"gone","resources_wiped":[{"kind":"statefulset","pruned":{"config_wiped":true,`},
		{"H6 no name", "DELETE", "/resource?scope=prod", "", 400, "add name="},
		{"H6 nothing of that name", "DELETE", "/resource?scope=prod&name=nothing", "", 404, "there is nothing named"},
		{"H7 restart", "POST", "/restart?kind=statefulset&scope=prod&name=cache", "", 200,
			`{"kind":"statefulset","name":"cache","scope":"prod","unfroze":`},
		{"H7 restart without a kind", "POST", "/restart?scope=prod&name=cache", "", 200, `"kind":"statefulset"`},
		{"H7 restart what isn't there", "POST", "/restart?kind=statefulset&scope=prod&name=none", "", 404, ""},
		{"H7 restart without a name", "POST", "/restart?scope=prod", "", 400, "add name="},
		{"H8 a command of a plugin", "POST", "/plugin/old/go", `{"args":["x"]}`, 200,
			`{"message":"done","applied":["set A of prod/web"]}`},
		{"H8 its text", "POST", "/plugin/old/go", `{"args":["text"]}`, 200, `{"message":"plain\n","applied":[]}`},
		{"H8 one that fails", "POST", "/plugin/old/go", `{"args":["fail"]}`, 400, "no such cache"},
		{"H8 no such command", "POST", "/plugin/old/none", `{"args":[]}`, 400, "no command"},
		{"H8 no such plugin", "POST", "/plugin/none/go", `{"args":[]}`, 404, "no plugin is named"},
		{"H8 an action that can't be done", "POST", "/plugin/old/go", `{"args":["bad"]}`, 500, "potato"},
		{"H9 as it is, with an envelope", "POST", "/plugins/exec",
			`{"args":["old","go","env"],"env":{"VOODU_APP":"prod-web"}}`, 200, `{"set":"prod-web","dir":"`},
		{"H9 as it is, nothing on stdin", "POST", "/plugins/exec", `{"args":["old","go","env"]}`, 200, `"stdin":""}`},
		{"H9 as it is, with text", "POST", "/plugins/exec", `{"args":["old","go","text"]}`, 200, `{"stdout":"plain\n"}`},
		{"H9 its actions are not done", "POST", "/plugins/exec", `{"args":["old","go","x"]}`, 200,
			`"actions":[{"type":"config_set"`},
		{"H9 too few words", "POST", "/plugins/exec", `{"args":["old"]}`, 400, "which plugin"},
		{"H9 no such plugin", "POST", "/plugins/exec", `{"args":["none","go"]}`, 404, "no plugin is named"},
		{"H9 no such command", "POST", "/plugins/exec", `{"args":["old","none"]}`, 404, "no command"},
		{"H9 one that fails", "POST", "/plugins/exec", `{"args":["old","go","fail"]}`, 500, "no such cache"},
		{"H10 a wrong method", "PUT", "/config?scope=prod", "", 405, "not part"},
		{"H10 an unknown path", "GET", "/v1/objects/deployment", "", 404, "not part"},
	} {
		status, got := ask(t, c.method, url+c.path, c.body)
		if status != c.status || !strings.Contains(got.Error+string(got.Data), c.part) ||
			(status == 200) != (got.Status == "ok") {
			t.Errorf("%s: %d %s %s%s, want %d %q", c.row, status, got.Status, got.Error, got.Data, c.status, c.part)
		}
	}
	endpoint.shut(t)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, there := w.view.Snapshot().Get(records.ObjectKey(made("gone", "", "").Ref())); there {
		t.Error("what was removed is there")
	}
}
