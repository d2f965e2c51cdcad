package netpolicy_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api/node"
)

// TestAFullDiskHoldsNoRuleBack: what can't be stored for a start without a server is in force all the same: an address
// that goes from a pod of one scope to one of another counts for that one at once.
func TestAFullDiskHoldsNoRuleBack(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	root := filepath.Join(t.TempDir(), "lost") // a disk that takes nothing, also from root
	file, address := filepath.Join(root, "network.json"), netip.MustParseAddr("10.80.0.2")
	w := worldOf(file, closed)
	w.Pass(t.Context(), true)
	for range 2 {
		for _, scope := range []string{"db", "shop"} {
			w.local = node.Pods{address: scope}
			if w.Pass(t.Context(), false); !strings.Contains(w.machine.table, "10.80.0.2 : goto from-"+scope) {
				t.Errorf("a pod of %s is not in the table:\n%s", scope, w.machine.table)
			}
		}
	}
	want := "a start without a server would use an older policy: write " + file + ": no such file or directory"
	if w.Fault() != want || w.changes != 1 {
		t.Errorf("%d changes, %q, want %q", w.changes, w.Fault(), want)
	}
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	w.Pass(t.Context(), false)
	if kept, err := os.ReadFile(file); err != nil || w.Fault() != "" || !strings.Contains(string(kept), "wireguard") {
		t.Errorf("with room again: %q, %s, %v", w.Fault(), kept, err)
	}
}

// TestAPolicyThatCannotBeForgottenEnds: the rules of a network that is deleted go, whatever the disk does.
func TestAPolicyThatCannotBeForgottenEnds(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	file := filepath.Join(t.TempDir(), "network.json")
	if err := os.MkdirAll(filepath.Join(file, "taken"), 0o700); err != nil { // it can't be removed, also by root
		t.Fatal(err)
	}
	w := worldOf(file, closed)
	w.Pass(t.Context(), true)
	if w.machine.table == "" {
		t.Fatal("no rules")
	}
	w.network = node.Network{}
	if w.Pass(t.Context(), false); w.machine.table != "" || !strings.Contains(w.Fault(), "remove "+file) {
		t.Errorf("%q:\n%s", w.Fault(), w.machine.table)
	}
}
