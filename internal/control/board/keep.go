package board

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
)

// Misplaced returns a function that says why a node may not keep the tasks of a workload: it was drained, no longer
// meets the constraints, or has another runtime. It returns the empty string if the node may. task is one of them.
func (b *Board) Misplaced(snapshot records.Snapshot, task *api.Task) func(node string) string {
	b.onNodes(snapshot)
	demand := b.demands.of(snapshot, task)
	return func(id string) (why string) {
		b.at(snapshot, func(_ records.Snapshot, l *placement.Ledger) {
			if n, known := l.Node(id); known {
				why = placement.Misplaced(n, demand.Need, demand.Rules)
			}
		})
		return why
	}
}

// Places counts the nodes for the pods of a global deployment: those in hosts, which have one, and those that may get
// one. need says what the pods need of a runtime.
func (b *Board) Places(snapshot records.Snapshot, object api.Object, need fit.Need,
	hosts map[string]bool) (places int) {
	b.onNodes(snapshot)
	rules := demandOf(nil, &object).Rules
	b.at(snapshot, func(_ records.Snapshot, l *placement.Ledger) {
		places = placement.Places(l.Nodes(), need, rules, hosts)
	})
	return places
}

// MayRunOn reports whether the constraints of an object let its pods ever be on a node. One that nothing is known of
// may be any.
func (b *Board) MayRunOn(snapshot records.Snapshot, object api.Object, node string) (may bool) {
	b.onNodes(snapshot)
	rules := demandOf(nil, &object).Rules
	b.at(snapshot, func(_ records.Snapshot, l *placement.Ledger) {
		n, known := l.Node(node)
		may = !known || placement.Allowed(n, fit.Need{}, rules)
	})
	return may
}
