package server_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/compat/plugin/broker"
	"tend.dev/tend/internal/input/manifest"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

func mac(plain []byte) string {
	sum := sha256.Sum256(plain)
	return hex.EncodeToString(sum[:])
}

// newPluginWorld returns a server with plugins that are shell scripts, and the URL of a listener for containers.
func newPluginWorld(
	t *testing.T, files map[string]string, change ...func(*server.Options),
) (w *world, containers string) {
	t.Helper()
	dir := t.TempDir()
	for name, body := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root, err := plugin.Open(plugin.Options{Dir: dir, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	w = newWorld(t, append(change, func(o *server.Options) {
		o.MAC = mac
		o.Plugins = broker.New(broker.Options{Root: root, Verbs: o.Verbs, Decode: manifest.Decode,
			Snapshot: func() records.Snapshot { return records.Snapshot{Reader: o.View.Snapshot()} }})
	})...)
	served := httptest.NewServer(w.server.Callbacks(nil))
	t.Cleanup(served.Close)
	return w, served.URL + "/t/"
}

// ask makes one call of the callback paths.
func ask(t *testing.T, method, url, body string) (int, api.Envelope) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	var envelope api.Envelope
	if err := json.Unmarshal(text, &envelope); err != nil {
		t.Fatalf("%s %s: %s is not an envelope", method, url, text)
	}
	return response.StatusCode, envelope
}

// made returns a statefulset that a plugin wrote the manifest of.
func made(name, uid, macro string) api.Object {
	return api.Object{Kind: api.KindStatefulSet, Scope: "prod", Name: name,
		Spec: json.RawMessage(`{"image":"kv:1","replicas":1}`),
		Metadata: api.Metadata{UID: uid,
			Stamps: map[string]string{api.StampMacro: macro, api.StampAssets: `{"prod.conf.main":"sha256:00"}`}}}
}

func TestContainerCallbacks(t *testing.T) {
	w, endpoint := newPluginWorld(t,
		map[string]string{"kv/bin/info": `echo "{\"status\":\"ok\",\"data\":{\"message\":\"for $*\"}}"`,
			"kv/bin/foreign": `echo '{"status":"ok","data":{"actions":[{"type":"config_set","scope":"dev","name":"x","kv":{"A":"1"}}]}}'`, "other/bin/info": "echo hi"})
	object, by := made("cache", "u1", "kv/prod/cache"), made("plain", "u2", "")
	object.Spec = json.RawMessage(`{"image":"kv:1","replicas":1,"env_from":["monitored"],"env":{"P":"${ref.statefulset.peer.host}"},` +
		`"depends_on":{"workloads":["statefulset/before"]}}`)
	w.put(records.ObjectKey(object.Ref()), object)
	w.put(records.ObjectKey(by.Ref()), by)
	read := func(name, spec string) {
		other := made(name, name, "")
		other.Spec = json.RawMessage(spec)
		w.put(records.ObjectKey(other.Ref()), other)
	}
	read("monitored", `{"image":"kv:1"}`)
	read("peer", `{"image":"kv:1"}`)
	read("before", `{"image":"kv:1"}`)
	read("watcher", `{"image":"kv:1","env_from":["cache"]}`) // it refers to the token's object, not the other way round
	own := endpoint + server.ContainerToken(mac, object)
	if status, got := ask(t, "POST", own+"/config?scope=prod&name=cache", `{"A":"1","B":"2","C":"3"}`); status != 200 {
		t.Fatalf("%d %+v", status, got)
	}
	if status, got := ask(t, "POST", own+"/config?scope=prod&name=cache", `{"A":""}`); status != 200 ||
		got.Status != "ok" {
		t.Fatalf("an empty value takes the key away: %d %+v", status, got)
	}
	for _, c := range []struct {
		reason, method, path, body string
		status                     int
		part                       string
	}{
		{"its own bucket", "GET", "/config?scope=prod&name=cache", "", 200, `{"vars":{"B":"2","C":"3"}}`},
		{"one key", "GET", "/config?scope=prod&name=cache&key=B", "", 200, `{"B":"2"}`},
		{"a key that isn't there", "GET", "/config?scope=prod&name=cache&key=Z", "", 404, "no key"},
		{"a key goes", "DELETE", "/config?scope=prod&name=cache&key=C", "", 200, ""},
		{"no key named", "DELETE", "/config?scope=prod&name=cache", "", 400, "add key="},
		{"not JSON", "POST", "/config?scope=prod&name=cache", "x", 400, "can't be read"},
		{"another's bucket", "GET", "/config?scope=prod&name=plain", "", 403, "not allowed to access"},
		{"the scope's bucket", "GET", "/config?scope=prod", "", 403, "not allowed to access"},
		{"another's bucket written", "POST", "/config?scope=dev&name=cache", `{"A":"1"}`, 403, "not allowed to access"},
		{"no bucket", "GET", "/config", "", 400, "add scope="},
		{"itself", "GET", "/describe?kind=statefulset&scope=prod&name=cache", "", 200,
			`"_asset_digests":{"prod.conf.main":"sha256:00"}`},
		{"one it reads the bucket of", "GET", "/describe?kind=statefulset&scope=prod&name=monitored", "", 200,
			`"name":"monitored"`},
		{"one it names by ${ref}", "GET", "/describe?kind=statefulset&scope=prod&name=peer", "", 200, `"name":"peer"`},
		{"one it depends on", "GET", "/describe?kind=statefulset&scope=prod&name=before", "", 200, `"name":"before"`},
		{"one that reads its bucket", "GET", "/describe?kind=statefulset&scope=prod&name=watcher", "", 403,
			"not allowed to access"},
		{"the bucket of one it refers to", "GET", "/config?scope=prod&name=monitored", "", 403, "not allowed to access"},
		{"one it refers to restarted", "POST", "/restart?kind=statefulset&scope=prod&name=monitored", "", 403,
			"not allowed to access"},
		{"an ordinal of one it refers to", "DELETE", "/resource?scope=prod&name=monitored&ordinal=0", "", 403,
			"not allowed to access"},
		{"another", "GET", "/describe?kind=statefulset&scope=prod&name=plain", "", 403, "not allowed to access"},
		{"whether another is there", "GET", "/describe?kind=statefulset&scope=prod&name=nothing", "", 403,
			"not allowed to access"},
		{"restarted", "POST", "/restart?kind=statefulset&scope=prod&name=cache", "", 200, `"name":"cache"`},
		{"another restarted", "POST", "/restart?kind=statefulset&scope=prod&name=plain", "", 403, "not allowed to access"},
		{"an ordinal that isn't there", "DELETE", "/resource?scope=prod&name=cache&ordinal=4", "", 404, "has no ordinal 4"},
		{"itself as a whole", "DELETE", "/resource?scope=prod&name=cache", "", 403, "can't remove its own object"},
		{"no ordinal", "DELETE", "/resource?scope=prod&name=cache&ordinal=x", "", 400, "ordinal is not a number"},
		{"its plugin", "POST", "/plugin/kv/info", `{"args":["prod/main","--n","1"]}`, 200, "for prod/main --n 1"},
		{"its plugin about another scope", "POST", "/plugin/kv/info", `{"args":["dev/main"]}`, 403, "not allowed to access"},
		{"an action in another scope", "POST", "/plugin/kv/foreign", "", 400, "not allowed to access the scope dev"},
		{"another plugin", "POST", "/plugin/other/info", "", 403, "not allowed to access the plugin"},
		{"no plugin", "POST", "/plugin/none/info", "", 404, "no plugin is named"},
		{"not a callback path", "GET", "/v1/objects/deployment", "", 404, "not part of the callback paths"},
		{"not a method", "PUT", "/config?scope=prod&name=cache", "", 405, "not part"},
		{"its plugin as it is", "POST", "/plugins/exec", `{"args":["kv","info","prod/a"]}`, 200, "for prod/a"},
		{"another plugin as it is", "POST", "/plugins/exec", `{"args":["other","info"]}`, 403,
			"not allowed to access the plugin"},
		{"its plugin about another scope as it is", "POST", "/plugins/exec", `{"args":["kv","info","dev/a"]}`, 403,
			"not allowed to access"},
		{"a variable that chooses a program", "POST", "/plugins/exec", `{"args":["kv","info"],"env":{"PATH":"/tmp"}}`,
			400, "can't be set"},
	} {
		status, got := ask(t, c.method, own+c.path, c.body)
		if status != c.status || !strings.Contains(got.Error+string(got.Data), c.part) ||
			(status == 200) != (got.Status == "ok") {
			t.Errorf("%s: %d %s %s%s, want %d %q", c.reason, status, got.Status, got.Error, got.Data, c.status, c.part)
		}
	}
	if value, err := w.client.ConfigKeys(t.Context(), "dev", "x"); err != nil || len(value.Keys) > 0 {
		t.Errorf("something was set in another scope: %v, %v", value.Keys, err)
	}
}

// A token belongs to one object, for one lifetime: no other object's gives access to it, and none gives access to the
// API.
func TestContainerTokens(t *testing.T) {
	w, endpoint := newPluginWorld(t, nil)
	object := made("cache", "u1", "kv/prod/cache")
	w.put(records.ObjectKey(object.Ref()), object)
	plain := made("plain", "u2", "")
	plain.Kind = api.KindDeployment
	w.put(records.ObjectKey(plain.Ref()), plain)
	other := object
	other.Metadata.UID = "another life"
	good := server.ContainerToken(mac, object)
	for reason, path := range map[string]string{
		"none": "", "nonsense": "x/health", "half": good[:len(good)-1] + "/health",
		"another life's":                    server.ContainerToken(mac, other) + "/health",
		"a deployment that no plugin wrote": server.ContainerToken(mac, plain) + "/health", "no path": good,
		"the API's": token + "/health",
	} {
		if status, got := ask(t, "GET", endpoint+path, ""); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %+v", reason, status, got)
		}
	}
	response, err := http.Get(endpoint + good + "/health")
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("the right one: %v, %v", response, err)
	}
	response.Body.Close()
	http.DefaultClient.CloseIdleConnections()
}

// While a command runs it reaches the scopes its arguments name, through a listener of its own that closes when it
// ends.
func TestPluginEndpoint(t *testing.T) {
	w, _ := newPluginWorld(t, map[string]string{"kv/bin/url": `printf '%s' "$TEND_CONTROLLER_URL"`})
	listed, err := w.client.Plugins(t.Context())
	if err != nil || len(listed.Items) != 1 || listed.Items[0].Name != "kv" {
		t.Fatalf("%+v, %v", listed, err)
	}
	envelope, err := w.client.CallPlugin(t.Context(), "kv", "url", []string{"prod/a"})
	var result api.PluginResult
	if err != nil || json.Unmarshal(envelope.Data, &result) != nil ||
		!strings.HasPrefix(result.Message, "http://127.0.0.1:") {
		t.Fatalf("%+v, %v", envelope, err)
	}
	if response, err := http.Get(result.Message + "/health"); err == nil {
		response.Body.Close()
		t.Error("the endpoint is open when the command has ended")
	}
	if envelope, err = w.client.CallPlugin(t.Context(), "kv", "none", nil); err != nil || envelope.Status != "error" ||
		!strings.Contains(envelope.Error, "the commands are: url") {
		t.Errorf("no such command: %+v, %v", envelope, err)
	}
}

// A program whose arguments name no scope can't access any, also not by the actions of a command that it calls.
func TestPluginWithoutAScope(t *testing.T) {
	endpoint := newFifos(t)
	w, _ := newPluginWorld(t, map[string]string{
		"kv/bin/set":   `echo '{"status":"ok","data":{"actions":[{"type":"config_set","scope":"prod","name":"web","kv":{"A":"1"}}]}}'`,
		"other/bin/go": endpoint.printsURLAndWaits(),
	})
	done := make(chan error, 1)
	go func() { _, err := w.client.CallPlugin(t.Context(), "other", "go", nil); done <- err }()
	endpoint.call(t, "POST", "/plugin/kv/set", "", "not allowed to access the scope prod")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Without plugins a macro, and everything about plugins, is refused with the reason.
func TestNoPlugins(t *testing.T) {
	w := newWorld(t)
	_, err := w.client.Apply(t.Context(),
		api.ApplyRequest{Objects: []api.Object{{Kind: "kv", Scope: "prod", Name: "a", Spec: json.RawMessage(`{}`)}}})
	if err == nil || !strings.Contains(err.Error(), "this server has no plugins") {
		t.Errorf("got %v", err)
	}
}

// What is wrong with a macro names it, so that the CLI finds its place.
func TestMacroProblem(t *testing.T) {
	w, _ := newPluginWorld(t, map[string]string{"kv/bin/expand": "echo image is required >&2; exit 1"})
	for _, kind := range []api.Kind{"kv", "none"} {
		_, err := w.client.Apply(t.Context(),
			api.ApplyRequest{Objects: []api.Object{{Kind: kind, Scope: "prod", Name: "a", Spec: json.RawMessage(`{}`)}}})
		problem, _ := err.(*api.Problem)
		if problem == nil || len(problem.Errors) != 1 || problem.Errors[0].Object != string(kind)+
			"/prod/a" || problem.Next == "" {
			t.Errorf("%s: %+v", kind, err)
		}
	}
}

// TestContainersOfAPlainStatefulSet reach their own object, as those of a plugin's do, and no plugin.
func TestContainersOfAPlainStatefulSet(t *testing.T) {
	w, endpoint := newPluginWorld(t, map[string]string{"kv/bin/info": `echo "for $*"`})
	object := made("db", "u1", "")
	w.put(records.ObjectKey(object.Ref()), object)
	plain := made("web", "u2", "")
	plain.Kind = api.KindDeployment
	w.put(records.ObjectKey(plain.Ref()), plain)
	own := endpoint + server.ContainerToken(mac, object)
	for _, c := range []struct {
		reason, method, url, body string
		status                    int
	}{
		{"itself", "GET", own + "/describe?kind=statefulset&scope=prod&name=db", "", 200},
		{"another", "GET", own + "/describe?kind=deployment&scope=prod&name=web", "", 403},
		{"a plugin", "POST", own + "/plugin/kv/info", `{"args":["prod/db"]}`, 403},
		{"a plugin as it is", "POST", own + "/plugins/exec", `{"args":["kv","info","prod/db"]}`, 403},
		{"a deployment that no plugin wrote", "GET", endpoint + server.ContainerToken(mac, plain) +
			"/describe?kind=deployment&scope=prod&name=web", "", 401},
	} {
		if status, got := ask(t, c.method, c.url, c.body); status != c.status {
			t.Errorf("%s: %d %s%s, want %d", c.reason, status, got.Error, got.Data, c.status)
		}
	}
}
