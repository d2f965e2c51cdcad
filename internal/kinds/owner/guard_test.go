package owner

import (
	"context"
	"errors"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// TestGuard: what was decided while a node was silent isn't stored once the node is heard.
func TestGuard(t *testing.T) {
	task := func(node string) Task {
		return Task{Desired: records.Read[api.Task]{Value: &api.Task{ID: "t-" + node, Node: node}}}
	}
	lost, away, heard := task("n1"), task("n1"), task("n2")
	lost.Absence.Lost, away.Away = true, true
	for name, test := range map[string]struct {
		tasks []Task
		alive string
		taken bool
	}{
		"a lost node stays silent":         {[]Task{lost, heard}, "n2", true},
		"a lost node is heard":             {[]Task{lost, heard}, "n1", false},
		"two of its tasks":                 {[]Task{lost, lost}, "n1", false},
		"the node of an ended one":         {[]Task{heard, away}, "n1", false},
		"nothing was decided about others": {[]Task{heard}, "n1", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.alive(test.alive, true)
			txn := records.NewTxn("test").Put(records.RunKey(api.Ref{Kind: api.KindJob, Scope: "s", Name: "j"}, "r"), api.Run{})
			Guard(txn, test.tasks)
			_, err := txn.Commit(context.Background(), h.store)
			if taken := err == nil; taken != test.taken || !taken && !errors.Is(err, store.ErrConflict) {
				t.Errorf("the commit ended with %v", err)
			}
		})
	}
}
