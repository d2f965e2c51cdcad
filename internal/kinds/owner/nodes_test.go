package owner

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestNodesFollowChanges: the nodes that were kept are those of a newer snapshot, whatever changed of them.
func TestNodesFollowChanges(t *testing.T) {
	h := newHarness(t)
	var kept Nodes
	ready := func(id string, is bool) func() {
		return func() {
			h.write(func(txn *records.Txn) { txn.Put(records.NodeKey(id), api.NodeStatus{ID: id, Ready: is}) })
		}
	}
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"there is none", func() {}, nil},
		{"one that does not answer", ready("n1", true), nil},
		{"it answers", func() { h.alive("n1", true) }, []string{"n1"}},
		{"something else", func() { h.write(func(txn *records.Txn) { txn.Put("/else", "x") }) }, []string{"n1"}},
		{"its runtime does not", ready("n1", false), nil},
		{"another one", func() { h.alive("n2", true); ready("n2", true)() }, []string{"n2"}},
		{"it is silent", func() { h.alive("n2", false) }, nil},
	} {
		step.do()
		s := records.Snapshot{Reader: h.view.Snapshot()}
		if got := kept.At(s); !slices.Equal(got.Candidates, step.want) || len(got.All) != len(s.Nodes()) {
			t.Errorf("%s: %v of %d, want %v of %d", step.name, got.Candidates, len(got.All), step.want, len(s.Nodes()))
		}
	}
}
