package netpolicy_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

// TestAHeldMachineKeepsItsRules: after a restore the older store may lack a policy that was made since. What was in
// force stays until tend resume, also over a restart in the pause; then the store's counts.
func TestAHeldMachineKeepsItsRules(t *testing.T) {
	file, synced := filepath.Join(t.TempDir(), "network.json"), make(chan struct{})
	close(synced)
	var was string
	runs(t, func() *world { return worldOf(file, synced) }, func(w *world) { was = w.machine.table })
	kept, err := os.ReadFile(file)
	if err != nil || was == "" {
		t.Fatalf("%v; before the restore the rules are %q", err, was)
	}
	for name, older := range map[string]node.Network{
		"another policy": {Driver: api.DriverWireGuard, Policy: &node.Policy{
			Allow: []api.NetworkAllow{{From: []string{"*"}, To: []string{"*"}}}}},
		"no policy":  {Driver: api.DriverWireGuard},
		"no network": {},
	} {
		for again, table := range map[string]string{"in place": was, "lost with the machine": ""} {
			restored := func() *world {
				w := worldOf(file, synced)
				w.network, w.machine.table, w.hold = older, table, make(chan struct{})
				w.Hold = w.hold
				return w
			}
			check := func(w *world) {
				if w.passes(); w.machine.table != was {
					t.Errorf("%s, rules %s: in the pause they are:\n%s", name, again, w.machine.table)
				}
			}
			runs(t, restored, check)
			if now, err := os.ReadFile(file); err != nil || string(now) != string(kept) {
				t.Errorf("%s, rules %s: for the next start it keeps %s, %v", name, again, now, err)
			}
			runs(t, restored, func(w *world) {
				check(w)
				close(w.hold)
				if synctest.Wait(); w.machine.table != "" {
					t.Errorf("%s, rules %s: after the pause they are:\n%s", name, again, w.machine.table)
				}
			})
			if err := os.WriteFile(file, kept, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
