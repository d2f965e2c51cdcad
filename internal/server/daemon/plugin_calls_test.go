package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
)

var db = api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"}

// pluginCall is a command of a plugin that runs until the test ends it.
type pluginCall struct {
	*running
	url, end string
	done     chan error
}

// install creates a plugin whose one command writes its callback URL to a file, and waits.
func (m *machine) install() {
	m.t.Helper()
	dir := filepath.Join(m.root, "plugins", "pg")
	script := "#!/bin/sh\nprintf '%s' \"$TEND_CONTROLLER_URL\" >\"$TEND_PLUGIN_DIR/url\"\nread end <\"$TEND_PLUGIN_DIR/end\"\n"
	capture := `#!/bin/sh
echo '{"status":"ok","data":{"actions":[
  {"type":"apply_manifest","scope":"prod","name":"db","manifest":{"kind":"job","scope":"prod","name":"db.bk.b001","spec":{"image":"pg:1"}}},
  {"type":"run_job","scope":"prod","name":"db.bk.b001"}]}}'
`
	err := errors.Join(os.MkdirAll(filepath.Join(dir, "bin"), 0o755),
		os.WriteFile(filepath.Join(dir, "bin", "capture"), []byte(capture), 0o755),
		os.WriteFile(filepath.Join(dir, "bin", "work"), []byte(script), 0o755),
		syscall.Mkfifo(filepath.Join(dir, "url"), 0o600), syscall.Mkfifo(filepath.Join(dir, "end"), 0o600))
	if err != nil {
		m.t.Fatal(err)
	}
}

// work runs the plugin's command about an object.
func (r *running) work(args ...string) *pluginCall {
	r.t.Helper()
	dir := filepath.Join(r.root, "plugins", "pg")
	c := &pluginCall{running: r, end: filepath.Join(dir, "end"), done: make(chan error, 1)}
	go func() { _, err := r.client.CallPlugin(context.Background(), "pg", "work", args); c.done <- err }()
	url, err := os.ReadFile(filepath.Join(dir, "url"))
	if err != nil {
		r.t.Fatal(err)
	}
	c.url = string(url)
	return c
}

// ask calls the server back as the command would.
func (c *pluginCall) ask(method, path, body string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		c.t.Fatalf("%s %s: %s", method, path, response.Status)
	}
}

// ends lets the command end.
func (c *pluginCall) ends() {
	c.t.Helper()
	if err := errors.Join(os.WriteFile(c.end, []byte("\n"), 0o600), <-c.done); err != nil {
		c.t.Fatal(err)
	}
}

// set returns a statefulset with a volume for each of n ordinals.
func set(n int) api.Object {
	spec := fmt.Sprintf(`{"image":"pg:1","replicas":%d,"volume_claims":[{"name":"data","mount_path":"/data"}],"strategy":{"pause":"1ms","monitor":"1ms"}}`, n)
	return api.Object{Kind: db.Kind, Scope: db.Scope, Name: db.Name, Spec: json.RawMessage(spec)}
}

// container returns the engine's container with a name; its zero value if there is none.
func (m *machine) container(name string) runtime.Container {
	for _, c := range m.engine.Containers() {
		if c.Name == name && c.State == runtime.StateRunning {
			return c
		}
	}
	return runtime.Container{}
}

// newDatabase returns a server with the plugin and a statefulset of two ordinals, whose bucket says that 0 is the
// primary.
func newDatabase(t *testing.T) *running {
	t.Helper()
	m := newMachine(t)
	m.engine.AddImage("pg:1")
	m.install()
	r := m.start(nil).ready()
	if _, err := r.client.SetConfig(t.Context(), db.Scope, db.Name,
		api.ConfigRequest{Set: map[string]string{"PRIMARY": "0"}}); err != nil {
		t.Fatal(err)
	}
	r.converged(db, r.apply(set(2)))
	return r
}

// TestAnOrdinalThatAPluginReplacesReadsTheBucketsAsTheyAre: a plugin that makes ordinal 1 the primary sets the key
// without a restart and has ordinal 0 recreated. If ordinal 0 started with the values of its release, there would be
// two primaries.
func TestAnOrdinalThatAPluginReplacesReadsTheBucketsAsTheyAre(t *testing.T) {
	for name, query := range map[string]string{"with its volume": "&prune=true", "its container alone": ""} {
		t.Run(name, func(t *testing.T) {
			r := newDatabase(t)
			before := map[string]string{"prod-db.0": r.container("prod-db.0").ID, "prod-db.1": r.container("prod-db.1").ID}
			call := r.work("prod/db")
			call.ask("POST", "/config?scope=prod&name=db&restart=false", `{"PRIMARY":"1"}`)
			call.ask("DELETE", "/resource?scope=prod&name=db&ordinal=0"+query, "")
			r.until("ordinal 0 runs again", func() bool {
				id := r.container("prod-db.0").ID
				return id != "" && id != before["prod-db.0"]
			})
			if got := r.engine.Spec("prod-db.0").Env["PRIMARY"]; got != "1" {
				t.Errorf("ordinal 0 was made with PRIMARY=%s: there are two primaries", got)
			}
			call.ends()
			r.converged(db, r.apply(set(3))) // all is settled when the third ordinal is
			if id := r.container("prod-db.1").ID; id != before["prod-db.1"] {
				t.Error("ordinal 1 was replaced, though the plugin said that nothing restarts")
			}
			if got := r.engine.Spec("prod-db.2").Env["PRIMARY"]; got != "1" {
				t.Errorf("a new ordinal was made with PRIMARY=%s", got)
			}
			if status, _ := r.status(db); status.Updated != 3 {
				t.Errorf("%d of 3 ordinals count as updated", status.Updated)
			}
		})
	}
}

// TestAPluginThatStopsAPodIsLeftAlone: while its command runs, the pods that it stops or removes stay so, while other
// objects are healed; then they run again. No event reports a failure: a planned promotion must not alert anyone.
func TestAPluginThatStopsAPodIsLeftAlone(t *testing.T) {
	r := newDatabase(t)
	r.engine.AddImage("web:1")
	r.converged(web, r.apply(manifestOf(web, nil)))
	pod := r.live(web)[0].Name
	call := r.work("prod/db.0")
	if err := errors.Join(r.engine.StopByHand("prod-db.0"), r.engine.RemoveByHand("prod-db.1")); err != nil {
		t.Fatal(err)
	}
	r.waits("prod-db.0", "prod-db.1")
	if err := r.engine.StopByHand(pod); err != nil {
		t.Fatal(err)
	}
	r.until("a pod of no plugin's business is healed", func() bool { return r.container(pod).ID != "" })
	if r.container("prod-db.0").ID != "" || r.container("prod-db.1").ID != "" {
		t.Error("a pod was started under the plugin's hands")
	}
	call.ends()
	r.until("they run again", func() bool { return r.container("prod-db.0").ID != "" && r.container("prod-db.1").ID != "" })
	r.converged(db, 0)
	failed, err := r.client.ListEvents(t.Context(), client.EventOptions{Kind: db.Kind, Scope: db.Scope, Name: db.Name,
		Types: []string{string(api.EventFailed)}})
	if err != nil || len(failed.Events) > 0 {
		t.Errorf("%+v, %v", failed.Events, err)
	}
}

// waits waits until the agent reports that a plugin is working on pods.
func (r *running) waits(names ...string) {
	r.t.Helper()
	r.until("the pods wait for the plugin", func() bool {
		n := 0
		for _, pod := range r.live(db) {
			for _, name := range names {
				if pod.Name == name && pod.Reason == "PluginAtWork" {
					n++
				}
			}
		}
		return n == len(names)
	})
}

// TestAPluginFindsTheContainersOfItsDottedName: a plugin searches by the dotted name it chose, in the engine and in
// callbacks.
func TestAPluginFindsTheContainersOfItsDottedName(t *testing.T) {
	r := newDatabase(t)
	if _, err := r.client.CallPlugin(t.Context(), "pg", "capture", nil); err != nil {
		t.Fatal(err)
	}
	var names []string
	r.until("the job's container is there", func() bool {
		names = nil
		for _, c := range r.engine.Containers() {
			if c.Labels[api.LabelKind] == string(api.KindJob) {
				names = append(names, c.Name)
			}
		}
		return len(names) > 0
	})
	if len(names) != 1 || !strings.HasPrefix(names[0], "prod-db.bk.b001.") {
		t.Errorf("its containers are %v", names)
	}
	call := r.work("prod/db")
	call.ask("GET", "/describe?kind=job&scope=prod&name=db.bk.b001", "")
	call.ends()
}

// TestADatabaseOfThePredecessorNeverBeginsEmpty: if the predecessor's volume exists and Tend's doesn't, no container is
// created, and the pod's status names the command that copies the volume.
func TestADatabaseOfThePredecessorNeverBeginsEmpty(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("pg:1")
	hand := m.engine.Client("hand", "n1")
	if err := hand.EnsureVolume(t.Context(), "voodu-prod-db-data-0", nil); err != nil {
		t.Fatal(err)
	}
	r := m.start(nil).ready()
	r.apply(set(1))
	r.until("the pod is refused", func() bool {
		pods, err := r.client.Pods(t.Context(), client.PodFilter{Kind: db.Kind, Scope: db.Scope, Name: db.Name})
		return err == nil && len(pods.Items) == 1 && pods.Items[0].Reason == "OlderVolume" &&
			strings.Contains(pods.Items[0].Next, "-v voodu-prod-db-data-0:/from:ro -v tend-prod-db-data-0:/to")
	})
	if _, made := m.engine.Volumes()["tend-prod-db-data-0"]; made || len(m.engine.Containers()) > 0 {
		t.Error("an empty volume was made")
	}
	if err := hand.EnsureVolume(t.Context(), "tend-prod-db-data-0", nil); err != nil { // the copy
		t.Fatal(err)
	}
	revision, err := r.client.Restart(t.Context(), client.TargetOf(db))
	if err != nil {
		t.Fatal(err)
	}
	r.converged(db, revision.Revision)
}
