//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

func takesFrom(entries ...string) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.EnvFrom = entries }
}

func secretFile(path, key string) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) {
		if s.SecretFiles == nil {
			s.SecretFiles = map[string]string{}
		}
		s.SecretFiles[path] = key
	}
}

// environments returns the environments of an object's running containers.
func (m *machine) environments(name string) (out [][]string) {
	m.Helper()
	for id := range m.running(name) {
		out = append(out, m.inspect(id).Config.Env)
	}
	return out
}

// has asserts that every container of an object has a variable, or with an empty value that none has it.
func (m *machine) has(name, key, value string) {
	m.Helper()
	all := m.environments(name)
	if len(all) == 0 {
		m.Errorf("nothing of %s runs", name)
	}
	for _, env := range all {
		found := slices.ContainsFunc(env, func(pair string) bool { return strings.HasPrefix(pair, key+"=") })
		if value == "" && found || value != "" && !slices.Contains(env, key+"="+value) {
			m.Errorf("%s: %s is not %.60q", name, key, value)
		}
	}
}

func (m *machine) text(name, text string) string {
	m.Helper()
	path := filepath.Join(m.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.Fatal(err)
	}
	return path
}

// TestEnvironment: config values reach the container as they are (line ends, quotes, = and 64 KiB), in a variable and
// in a file, and come back so. Files beside the manifest reach it too, later ones over earlier ones, and env over both.
func TestEnvironment(t *testing.T) {
	m := newMachine(t).start()
	odd := "a=b \"c\" 'd' ${HOME} $(id) \\n \t é\n\nend"
	odd += strings.Repeat("x", 64<<10-len(odd))
	file := m.text("odd", odd)
	m.wantSaid(m.tend("config", "set", m.scope+"/app", "ODD=@"+file, "FILED=@"+file), 0, "2 set")
	path := m.file("app.hcl", `deployment "SCOPE" "app" {
  image        = "IMAGE"
  env_file     = ["first.env", "second.env"]
  env          = { INLINE = "inline", BOTH = "inline" }
  secret_files = { "/run/secrets/odd" = "FILED" }
  strategy {
    monitor = "100ms"
  }
}`)
	beside := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	beside("first.env", "# of the first\nexport FIRST=1\nOVER=first\nBOTH=first\nQUOTED=\"two words # and no comment\"\n")
	beside("second.env", "OVER=second\n")
	m.wantSaid(m.tend("apply", "-f", path), 0, "1 of 1 replicas run v1")
	for name, want := range map[string]string{
		"ODD": odd, "FILED": "",
		"FIRST": "1", "OVER": "second", "BOTH": "inline", "INLINE": "inline", "QUOTED": "two words # and no comment",
	} {
		m.has("app", name, want)
	}
	for id := range m.running("app") {
		if got := m.engine("exec", id, testimage.Program, "cat", "/run/secrets/odd").must(); got != odd {
			t.Errorf("the file holds %d bytes, want %d", len(got), len(odd))
		}
	}
	if got, err := m.client.ConfigValue(t.Context(), m.scope, "app", "ODD"); err != nil || got != odd {
		t.Errorf("it came back as %d bytes, %v", len(got), err)
	}
	// A changed file is a change like any other.
	beside("second.env", "OVER=third\n")
	m.wantSaid(m.tend("apply", "-f", path), 0, "1 of 1 replicas run v2")
	m.has("app", "OVER", "third")
	m.delete("app") // its secret file lies outside of the machine's root
}

// TestConfigRollsItsReaders: an app without any other environment is rolled by its first value, through the bucket of
// its scope, its own, or one it names; an app that doesn't read the bucket is left alone, and so is one whose value
// stays.
func TestConfigRollsItsReaders(t *testing.T) {
	m := newMachine(t).start()
	m.wantSaid(m.tend("config", "set", "shared-"+m.scope+"/db", "URL=one"), 0)
	m.deploy(m.manifest("plain"))
	m.deploy(m.manifest("reader", takesFrom("shared-"+m.scope+"/db"), env(map[string]string{"OWN": "manifest"})))
	plain, reader := m.containers("plain"), m.containers("reader")

	m.wantSaid(m.tend("config", "set", m.scope+"/plain", "FIRST=1"), 0, "FIRST created", "deployment/"+
		m.scope+"/plain: 1 of 1")
	m.has("plain", "FIRST", "1")
	if !slices.Equal(m.containers("reader"), reader) {
		t.Error("another app's value rolled it")
	}
	if slices.Equal(m.containers("plain"), plain) {
		t.Error("its first value did not roll it")
	}
	plain = m.containers("plain")

	m.wantSaid(m.tend("config", "set", "shared-"+m.scope+"/db", "URL=two"), 0, "URL changed")
	m.has("reader", "URL", "two")
	if !slices.Equal(m.containers("plain"), plain) {
		t.Error("a bucket it doesn't read rolled it")
	}
	m.wantSaid(m.tend("config", "set", m.scope, "URL=scope", "OWN=scope"), 0)
	m.has("plain", "URL", "scope")
	m.has("reader", "URL", "scope")
	m.has("reader", "OWN", "manifest")
	reader = m.containers("reader")
	m.wantSaid(m.tend("config", "set", m.scope, "URL=scope"), 0, "URL unchanged")
	m.wantSaid(m.tend("config", "unset", m.scope, "OWN"), 0, "OWN removed")
	if !slices.Equal(m.containers("reader"), reader) {
		t.Error("a value that the manifest sets by itself rolled it when it went")
	}
	m.has("plain", "OWN", "")
}

// TestSecretFiles: owned by the container's user, readable by no one else, on no disk, in no environment, and back
// after a reboot has emptied the memory.
func TestSecretFiles(t *testing.T) {
	m := newMachine(t).start()
	m.wantSaid(m.tend("config", "set", m.scope+"/app", "DB_PASSWORD=hunter2"), 0)
	m.deploy(m.manifest("app", secretFile("/run/secrets/db", "DB_PASSWORD"),
		func(s *api.DeploymentSpec) { s.User = "1000:1000" }))
	var id string
	for id = range m.running("app") {
	}
	if got := m.reads(id, "/run/secrets/db"); got != "hunter2" {
		t.Errorf("the file holds %q", got)
	}
	m.has("app", "DB_PASSWORD", "")
	source := ""
	for _, mount := range m.mountsOf(id) {
		if mount.Destination == "/run/secrets/db" {
			source = mount.Source
			if mount.RW {
				t.Error("the container can write it")
			}
		}
	}
	info, err := os.Stat(source)
	if err != nil || info.Mode() != 0o400 {
		t.Fatalf("%s: %v, %v", source, info, err)
	}

	m.killAll() // a reboot: the engine's restart finds nothing to mount, and Tend creates it again
	m.engine("kill", id).must()
	if err := os.RemoveAll(filepath.Dir(source)); err != nil {
		t.Fatal(err)
	}
	if failed := m.engine("start", id); failed.err == nil {
		t.Error("the engine started it without its file")
	}
	m.start()
	m.converged("app", 0)
	m.until("it has its file again", func() bool {
		for id := range m.running("app") {
			return m.engine("exec", id, testimage.Program, "cat", "/run/secrets/db").output == "hunter2"
		}
		return false
	})
	for id = range m.running("app") {
		for _, mount := range m.mountsOf(id) {
			source = mount.Source
		}
	}
	m.delete("app")
	m.until("its files are gone", func() bool { _, err := os.Stat(filepath.Dir(source)); return os.IsNotExist(err) })
}
