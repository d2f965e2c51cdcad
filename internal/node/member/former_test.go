package member

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/peer"
)

// serversRoot makes the root of a server that was last in a state.
func serversRoot(t *testing.T, state membership.State) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range map[string]string{"state/member/wal/0.wal": "log", "peers/authority.pem": "authority",
		"secret.key": "the cluster's", "machine.key": "the machine's"} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings := peer.Settings{Name: "b", State: state}
	if state == membership.External { // which a server doesn't record as its state
		settings.State, settings.Cluster = "", "c1"
	}
	if err := peer.WriteSettings(filepath.Join(root, "peers"), settings); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestTheRootOfAServer: an agent accepts a server's root only if the server was removed; a root that an agent has used
// is accepted.
func TestTheRootOfAServer(t *testing.T) {
	for _, state := range membership.States[1:] {
		err := checkRoot(serversRoot(t, state))
		next := "tend servers remove b"
		if state == membership.External {
			next = "tend nodes remove"
		}
		if (err == nil) != (state == membership.Removed) || err != nil && !strings.Contains(err.Error(), next) {
			t.Errorf("%s: %v", state, err)
		}
	}
	alone := serversRoot(t, membership.Voting)
	if err := os.RemoveAll(filepath.Join(alone, "peers")); err != nil {
		t.Fatal(err)
	}
	if err := checkRoot(alone); err == nil || !strings.Contains(err.Error(), "another --root") {
		t.Errorf("a server without others: %v", err)
	}
	if err := os.WriteFile(filepath.Join(alone, file), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkRoot(alone); err != nil {
		t.Errorf("a root with an agent of its own: %v", err)
	}
	if err := checkRoot(t.TempDir()); err != nil {
		t.Errorf("an empty root: %v", err)
	}
}

// TestWhatAServerLeftIsSetAside: wherever a crash interrupts it, the agent ends with the machine's own key, and nothing
// of the cluster's.
func TestWhatAServerLeftIsSetAside(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for name, crashed := range map[string]func(root, aside string) error{
		"not at all": func(string, string) error { return nil },
		"after the cluster's keys went": func(root,
			aside string) error {
			return move(filepath.Join(root, "secret.key"), aside)
		},
		"after the machine's key came": func(root, aside string) error {
			if err := move(filepath.Join(root, "secret.key"), aside); err != nil {
				return err
			}
			return os.Rename(filepath.Join(root, "machine.key"), filepath.Join(root, "secret.key"))
		},
	} {
		root := serversRoot(t, membership.Removed)
		early := filepath.Join(root, "replaced", "early")
		if err := os.MkdirAll(early, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := crashed(root, early); err != nil {
			t.Fatal(err)
		}
		aside, err := setAside(root, at)
		if err != nil || aside == "" {
			t.Fatalf("%s: %q, %v", name, aside, err)
		}
		if key, err := os.ReadFile(filepath.Join(root, "secret.key")); err != nil || string(key) != "the machine's" {
			t.Errorf("%s: the agent's key is %q, %v", name, key, err)
		}
		entries, err := os.ReadDir(root)
		if err != nil || len(entries) != 2 { // the key and what was set aside
			t.Errorf("%s: the root has %v, %v", name, entries, err)
		}
		if again, err := setAside(root, at); again != "" || err != nil {
			t.Errorf("%s, once more: %q, %v", name, again, err)
		}
	}
	if aside, err := setAside(serversRoot(t, membership.Voting), at); aside != "" || err != nil {
		t.Errorf("of a server that votes: %q, %v", aside, err)
	}
}
