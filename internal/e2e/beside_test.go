//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTwoServersOnOneRoot: the second's error names the holder, at once, and the first doesn't notice.
func TestTwoServersOnOneRoot(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app"))
	second := spawn(t, []string{"server", "--root", m.root, "--http", "off", "--network", m.network})
	t.Cleanup(second.kill)
	if code := second.exit(); code != 1 {
		t.Errorf("the second server ended with %d", code)
	}
	said := second.output.String()
	if !strings.Contains(said, "held by process") || !strings.Contains(said, "--root") {
		t.Errorf("the second server said %q", said)
	}
	m.converged("app", 0)
	if !m.alive() {
		t.Error("the first server ended")
	}
}

// TestWrongKeyFile: a root whose key was lost or exchanged is refused with what to do, and nothing is harmed.
func TestWrongKeyFile(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app"))
	m.terminate()
	key := filepath.Join(m.root, "secret.key")
	kept, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	other := newKey(t)
	for what, content := range map[string][]byte{"lost": nil, "exchanged": other, "damaged": []byte("rubbish\n")} {
		if err := os.Remove(key); err != nil {
			t.Fatal(err)
		}
		if content != nil {
			if err := os.WriteFile(key, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m.launch("server")
		if code := m.exit(); code != 1 || !strings.Contains(m.output.String(), "secret.key") {
			t.Errorf("%s key: ended with %d, saying\n%s", what, code, m.output.tail())
		}
		t.Logf("%s: %s", what, m.output.tail())
		if err := os.WriteFile(key, kept, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.running("app")) != 1 {
		t.Error("the container did not survive")
	}
	m.start()
	m.converged("app", 0)
}

// newKey is the key of another cluster.
func newKey(t *testing.T) []byte {
	t.Helper()
	root, err := os.MkdirTemp("", "tend")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	p := spawn(t, []string{"server", "--root", root, "--http", "off", "--network", "tendtest-" + random()})
	t.Cleanup(p.kill)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		if key, err := os.ReadFile(filepath.Join(root, "secret.key")); err == nil && strings.Contains(p.output.String(), "ready") {
			p.terminate()
			return key
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no key was made:\n%s", p.output.tail())
		}
	}
}

// TestDevBesideAServer: two instances on one machine, with the same scope and name, and neither touches the other's.
func TestDevBesideAServer(t *testing.T) {
	m := newMachine(t).start()
	dev := m.beside()
	dev.launch("dev")
	dev.until("dev answers", func() bool {
		readiness, err := dev.client.Readiness(t.Context())
		return err == nil && readiness.Ready
	})
	m.deploy(m.manifest("app", replicas(2)))
	mine := m.containers("app")
	dev.deploy(dev.manifest("app", replicas(1), runs("v2")))
	if len(dev.pods("app")) != 1 || len(m.pods("app")) != 2 {
		t.Errorf("they mix up their pods: %v and %v", dev.pods("app"), m.pods("app"))
	}
	if _, err := dev.client.Delete(t.Context(), dev.ref("app")); err != nil {
		t.Fatal(err)
	}
	dev.until("dev's is gone", func() bool { return len(dev.pods("app")) == 0 && len(m.running("app")) == 2 })
	if now := m.containers("app"); !slices.Equal(now, mine) || len(m.running("app")) != 2 {
		t.Errorf("the other instance touched ours: %v -> %v", mine, now)
	}
	if network := m.engine("network", "ls", "-q", "--filter", "name="+dev.network).must(); network == "" {
		t.Error("dev made no network of its own")
	}
}
