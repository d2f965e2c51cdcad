//go:build integration

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// foreign lays out a plugin as others write them: the older names alone, nothing of Tend's in it.
func (m *machine) foreign(name string) string {
	m.Helper()
	dir := filepath.Join(m.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS("testdata/plugins/"+name)); err != nil {
		m.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "cmd")); err == nil {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, "bin", name), "./testdata/plugins/"+name+"/cmd")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := build.CombinedOutput(); err != nil {
			m.Fatalf("build the plugin: %v: %s", err, output)
		}
	}
	return dir
}

// TestForeignShellPlugin: a plugin of shell scripts, with hooks, a macro, calls back and both ways of changing config.
func TestForeignShellPlugin(t *testing.T) {
	m := newSets(t)
	m.afterwards(func() { m.engine("volume", "rm", "-f", m.volume("cache", 0)).ignored() })
	m.wantSaid(m.tend("plugins", "install", m.foreign("store")), 0, "plugin store 1.2.0 installed")
	hooked, err := os.ReadFile(filepath.Join(m.root, "plugins", "store", "hooked"))
	if err != nil || string(hooked) != "installed store under "+filepath.Join(m.root, "plugins")+"\n" {
		t.Errorf("the install hook: %q, %v", hooked, err)
	}
	macro := m.file("store.hcl", `store "SCOPE" "cache" { image = "IMAGE" }`)
	m.wantSaid(m.tend("apply", "-f", macro), 0, "statefulset/"+m.scope+"/cache created")
	if got := m.inside("cache", 0, "cat", "/etc/store.conf").must(); got != "port 6380" {
		t.Errorf("the settings are %q", got)
	}
	consumer := m.manifest("web")
	consumer.Kind = api.KindDeployment
	m.apply(consumer)
	at := m.scope + "/cache"
	m.wantSaid(m.tend("st:link", at, m.scope+"/web"), 0, "noted "+m.scope+"/web", "set STORE_URL of "+m.scope+"/web",
		"linked "+m.scope+"/web")
	m.wantSaid(m.tend("store", "info", at), 0, at+" runs "+image("v1")+" on ", "linked: "+m.scope+"/web")
	m.wantSaid(m.tend("store:info", "cache"), 1, "want SCOPE/NAME, not 'cache'")
	before := m.ordinal("cache", 0)
	m.wantSaid(m.tend("store:rotate", at), 0, "rotated")
	m.until("the restart that the plugin asked for took the new value along", func() bool {
		result := m.inside("cache", 0, "env")
		return result.err == nil && strings.Contains(result.output, "STORE_PASSWORD=second") && m.ordinal("cache", 0) != ""
	})
	if before == "" {
		t.Error("it did not run before")
	}
	m.wantSaid(m.tend("store:reset", at, "0"), 0, "did action")
	m.wantSaid(m.tend("store:reset", at, "all"), 0, "did resources_wiped")
	m.until("what the plugin removed is gone", func() bool { return len(m.running("cache")) == 0 })
	m.wantSaid(m.tend("plugins", "remove", "store"), 0, "plugin store removed")
	if gone, err := os.ReadFile(filepath.Join(m.root, "store.gone")); err != nil || string(gone) != string(hooked) {
		t.Errorf("the uninstall hook: %q, %v", gone, err)
	}
}

// TestForeignProgram: a plugin of one Go program, found by its alias, with the actions a client does.
func TestForeignProgram(t *testing.T) {
	m := newMachine(t).start()
	m.wantSaid(m.tend("plugins", "install", m.foreign("ledger")), 0, "plugin ledger 0.3.1 installed")
	macro := m.file("ledger.hcl", "ledger \"SCOPE\" \"main\" {\n image = \"IMAGE\"\n env = { N = 1 }\n}\n")
	m.wantSaid(m.tend("apply", "-f", macro), 0, "ledger/"+m.scope+"/main stands for deployment/"+m.scope+"/main",
		"deployment/"+m.scope+"/main created")
	m.wantSaid(m.tend("lg:sh", "7"), 7, "at the terminal")
	dump := filepath.Join(t.TempDir(), "dump")
	m.wantSaid(m.tend("lg", "backups:download", dump), 0, "fetched "+dump)
	if text, err := os.ReadFile(dump); err != nil || string(text) != "all of it" {
		t.Errorf("fetched %q, %v", text, err)
	}
	m.wantSaid(m.tend("lg:backups:download", dump), 1, "is there already")
	m.wantSaid(m.tend("lg:backups:capture", m.scope+"/main", image("v1")), 0, "apply job/"+m.scope+"/main-bk-b001",
		"backing up "+m.scope+"/main")
	m.wantSaid(m.tend("lg:backups:delete", m.scope+"/main"), 0, "delete job/"+m.scope+"/main-bk-b001")
	m.wantSaid(m.tend("lg:expose", m.scope+"/main"), 0, "apply deployment/"+m.scope+"/main")
	m.until("the manifest that the plugin sent back is in force", func() bool {
		for id := range m.running("main") {
			if result := m.engine("exec", id, "/server", "env"); result.err == nil &&
				strings.Contains(result.output, "EXPOSED=yes") {
				return true
			}
		}
		return false
	})
	m.wantSaid(m.tend("ledger:sh", "1"), 1, "the context is")
}
