//go:build integration

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/test/testimage"
)

// kvPlugin builds the example plugin into a folder of its own.
func (m *machine) kvPlugin() string {
	m.Helper()
	dir := filepath.Join(m.TempDir(), "kv")
	if err := os.CopyFS(dir, os.DirFS("../../../examples/plugins/kv")); err != nil {
		m.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "bin", "kv"), "tend.dev/tend/examples/plugins/kv")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		m.Fatalf("build the plugin: %v: %s", err, output)
	}
	return dir
}

const kvMacro = `kv "SCOPE" "store" {
  image    = "IMAGE"
  replicas = 1
  limit    = "32mb"
}
`

// TestPlugin is a plugin's life: installed, a macro applied, a consumer linked, called back from its container,
// removed.
func TestPlugin(t *testing.T) {
	m := newSets(t)
	m.afterwards(func() { m.engine("volume", "rm", "-f", m.volume("store", 0)).ignored() })
	macro := m.file("kv.hcl", kvMacro)
	m.wantSaid(m.tend("apply", "-f", macro), 1, "kv.hcl:1:1", `no plugin is named "kv"`, "tend plugins install")
	m.wantSaid(m.tend("plugins", "install", m.kvPlugin()), 0, "plugin kv 0.1.0 installed")

	before := m.everything()
	m.wantSaid(m.tend("diff", "-f", macro), 0, "kv/"+m.scope+"/store stands for asset/"+m.scope+
		"/store, statefulset/"+m.scope+"/store",
		"set KV_SEED of "+m.scope+"/store", "+ statefulset/"+m.scope+"/store")
	if after := m.everything(); !maps.Equal(before, after) {
		t.Errorf("a dry run changed something:\nbefore %v\nafter %v", before, after)
	}

	m.wantSaid(m.tend("apply", "-f", macro), 0, "statefulset/"+m.scope+"/store created")
	if got := m.inside("store", 0, "cat", "/etc/kv.conf").must(); got != "port 6380\nlimit 32mb" {
		t.Errorf("the settings are %q", got)
	}
	if got := m.inside("store", 0, "env").must(); !strings.Contains(got, "KV_SEED="+m.scope+"-store") {
		t.Errorf("the action's value is not in the environment:\n%s", got)
	}
	m.wantSaid(m.tend("apply", "-f", macro), 0, "statefulset/"+m.scope+"/store unchanged")
	m.wantSaid(m.tend("get", "statefulset", "-l", api.LabelMacro+"=kv/"+m.scope+"/store", "-o", "name"),
		0, m.scope+"/store")

	m.linked()
	m.calledBack()

	m.wantSaid(m.tend("plugins", "remove", "kv"), 0, "plugin kv removed")
	m.wantSaid(m.tend("kv:info", m.scope+"/store"), 1, `unknown command "kv"`)
	if len(m.running("store")) != 1 {
		t.Error("what the macro stood for went with the plugin")
	}
}

// linked: a command sets a consumer's config, which replaces its container; the server's own container stays.
func (m *machine) linked() {
	m.Helper()
	consumer := m.manifest("web")
	consumer.Kind = api.KindDeployment
	m.apply(consumer)
	m.until("the consumer runs", func() bool { return len(m.running("web")) == 1 })
	store := slices.Collect(maps.Keys(m.running("store")))
	m.wantSaid(m.tend("keyvalue:link", m.scope+"/store", m.scope+"/web"), 0, "set KV_URL of "+m.scope+"/web", m.scope+
		"/web uses "+m.scope+"/store now")
	want := fmt.Sprintf("KV_URL=kv://store.%s:6380", m.scope)
	m.until("the consumer was replaced and has the address", func() bool {
		for id := range m.running("web") {
			if result := m.engine("exec", id, testimage.Program, "env"); result.err == nil &&
				strings.Contains(result.output, want) {
				return true
			}
		}
		return false
	})
	if now := slices.Collect(maps.Keys(m.running("store"))); !slices.Equal(store, now) {
		m.Errorf("skip_restart restarted the server: %v, then %v", store, now)
	}
	m.wantSaid(m.tend("kv", "info", m.scope+"/store"), 0, m.scope+"/store: 1 running", "linked: "+m.scope+"/web")
	m.wantSaid(m.tend("kv:info", m.scope+"/store", "-o", "json"), 0, `{"status":"ok","data":{"message":`)
	m.wantSaid(m.tend("kv:unlink", m.scope+"/store", m.scope+"/web"), 0)
	m.wantSaid(m.tend("config", "get", m.scope+"/web"), 0)
	m.wantSaid(m.tend("kv:link", m.scope+"/store"), 1, "SCOPE/NAME CONSUMER_SCOPE/NAME")
}

// calledBack: a container reaches the server with its token, for its own object and nothing else.
func (m *machine) calledBack() {
	m.Helper()
	at := func(method, path string) string {
		m.Helper()
		var last string
		m.until("the server answers containers", func() bool {
			result := m.inside("store", 0, "call", method, path)
			last = result.output
			return result.err == nil
		})
		return last
	}
	own := "scope=" + m.scope + "&name=store"
	for _, variable := range []string{"TEND_CONTROLLER_URL", "VOODU_CONTROLLER_URL"} {
		if got := at("GET", "$"+variable+"/config?"+own); !strings.HasPrefix(got, "200") ||
			!strings.Contains(got, `"KV_SEED"`) {
			m.Errorf("its own bucket by %s: %s", variable, got)
		}
	}
	if got := at("GET", "$TEND_CONTROLLER_URL/describe?kind=statefulset&"+own); !strings.Contains(got, `"running":true`) ||
		!strings.Contains(got, "_asset_digests") {
		m.Errorf("itself: %s", got)
	}
	if got := at("POST", "$TEND_CONTROLLER_URL/plugin/kv/info"); !strings.HasPrefix(got, "400") {
		m.Errorf("its plugin without arguments: %s", got)
	}
	for path, want := range map[string]string{
		"$TEND_CONTROLLER_URL/config?scope=" + m.scope + "&name=web":                   "403",
		"$TEND_CONTROLLER_URL/config?scope=" + m.scope:                                 "403",
		"$TEND_CONTROLLER_URL/describe?kind=deployment&scope=" + m.scope + "&name=web": "403",
		"$TEND_CONTROLLER_URL/v1/objects/deployment":                                   "404",
		"http://host.docker.internal:8687/t/" + m.scope + ".store.00/config?" + own:    "401",
		"http://host.docker.internal:8687/config?" + own:                               "401",
		"http://host.docker.internal:8687/v1/objects/deployment":                       "401",
	} {
		if got := at("GET", path); !strings.HasPrefix(got, want) {
			m.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for id := range m.running("web") {
		if output := m.engine("exec", id, testimage.Program, "env").output; strings.Contains(output, "CONTROLLER_URL") {
			m.Errorf("a container no plugin wrote has a token:\n%s", output)
		}
	}
}

// everything returns the state that a dry run must not change: the files of assets and plugins, and the store.
func (m *machine) everything() map[string]string {
	m.Helper()
	out := map[string]string{}
	for _, folder := range []string{"plugins", "assets", "blobs", "cache"} {
		err := filepath.WalkDir(filepath.Join(m.root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil //nolint:nilerr // a folder that isn't there is empty
			}
			content, err := os.ReadFile(path)
			sum := sha256.Sum256(content)
			out[path] = hex.EncodeToString(sum[:])
			return err
		})
		if err != nil {
			m.Fatal(err)
		}
	}
	for _, kind := range []api.Kind{api.KindAsset, api.KindStatefulSet, api.KindDeployment} {
		listed, err := m.client.Objects(m.Context(), kind, client.ObjectFilter{})
		if err != nil {
			m.Fatal(err)
		}
		for _, object := range listed.Items {
			out[object.Ref().String()] = fmt.Sprint(object.Metadata.Revision)
		}
	}
	keys, err := m.client.ConfigKeys(m.Context(), m.scope, "store")
	if err != nil {
		m.Fatal(err)
	}
	out["config"] = strings.Join(keys.Keys, ",")
	return out
}
