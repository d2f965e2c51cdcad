package overlay

import "testing"

// TestAHeldMachineKeepsItsNetwork: after a restore the older store may lack nodes that joined since. The network stays
// as it is until tend resume, unless it ended with the process or the machine: then it is made from what is known.
func TestAHeldMachineKeepsItsNetwork(t *testing.T) {
	there, gone := State{Device: &Device{}}, State{}
	for name, tc := range map[string]struct {
		reason string
		seen   []State // in this order
		resume bool    // before the last
		spares bool    // the last
	}{
		"it is there":           {"pods reach each other by it", []State{there}, false, true},
		"it stays there":        {"nothing has changed", []State{there, there}, false, true},
		"it is gone":            {"pods don't reach each other", []State{gone}, false, false},
		"it was made":           {"its paths are not complete yet", []State{gone, there}, false, false},
		"it has gone meanwhile": {"pods don't reach each other any more", []State{there, gone}, false, false},
		"the pause is over":     {"the store counts", []State{there, there}, true, false},
		"there was none before": {"the store counts", []State{gone, there}, true, false},
	} {
		hold := make(chan struct{})
		o, spares := New(Options{Hold: hold}), false
		for i, state := range tc.seen {
			if tc.resume && i == len(tc.seen)-1 {
				close(hold)
			}
			spares = o.spares(state)
		}
		if spares != tc.spares {
			t.Errorf("%s: %s: it is spared: %v", name, tc.reason, spares)
		}
	}
}
