package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/core/fit"
)

func zone(name string) func(*Node) {
	return func(n *Node) { n.Attributes = map[string]string{"node.labels.zone": name} }
}

func ruled(rules Rules) *Demand { return &Demand{Rules: rules} }

func TestRules(t *testing.T) {
	eu := []Constraint{{Attribute: "node.labels.zone", Value: "eu"}}
	const uncordon = "add another node (tend nodes add), or let it take pods again: tend uncordon vm"
	cases := map[string]struct {
		reason  string
		tasks   []Task
		nodes   []Node
		homes   map[string]string
		placed  []Assignment
		refused []Refusal
	}{
		"cordoned": {
			reason: "a cordoned node keeps what it has, and takes nothing",
			tasks:  []Task{{ID: "a", Node: "vm"}, {ID: "b"}}, nodes: []Node{vm(func(n *Node) { n.Cordoned = true })},
			refused: []Refusal{{Task: "b", Message: "node vm is cordoned", Next: uncordon}},
		},
		"constraint": {
			reason: "the node that meets it, however loaded",
			tasks:  []Task{{ID: "x", Node: "n2"}, {ID: "y", Node: "n2"}, {ID: "a", Demand: ruled(Rules{Constraints: eu})}},
			nodes:  []Node{named("n1", zone("us")), named("n2", zone("eu"))}, placed: []Assignment{{"a", "n2"}},
		},
		"constraint that no node meets": {
			reason: "a label that is not there has the empty value",
			tasks:  []Task{{ID: "a", Demand: ruled(Rules{Constraints: eu})}}, nodes: []Node{vm(nil)},
			refused: []Refusal{{Task: "a", Message: "node vm does not meet the constraint node.labels.zone == eu: it has none",
				Next: "change `placement.constraints`, or a node's labels"}},
		},
		"constraints that no node meets": {
			reason: "of several nodes the filters count",
			tasks: []Task{{ID: "a", Demand: ruled(Rules{Constraints: []Constraint{eu[0],
				{Attribute: "node.arch", Value: "arm64"}}})}},
			nodes: []Node{named("n1", zone("eu")), named("n2", nil)},
			refused: []Refusal{{Task: "a",
				Message: "2 of 2 nodes do not meet all constraints (node.labels.zone == eu, node.arch == arm64)",
				Next:    "change `placement.constraints`, or a node's labels"}},
		},
		"preference": {
			reason: "it counts more than the spread, and doesn't forbid",
			tasks: []Task{
				{ID: "x", Workload: "w", Node: "n2"}, {ID: "a", Workload: "w", Demand: ruled(Rules{Preferences: eu})},
				{ID: "b", Demand: ruled(Rules{Preferences: []Constraint{{Attribute: "node.labels.zone", Value: "asia"}}})},
			},
			nodes: []Node{named("n1", zone("us")), named("n2", zone("eu"))}, placed: []Assignment{{"a", "n2"}, {"b", "n1"}},
		},
		"a full disk": {
			reason: "it counts more than a preference and the spread, and doesn't forbid: the second fits nowhere else",
			tasks: []Task{
				{ID: "x", Node: "n1"}, {ID: "a", Demand: ruled(Rules{Preferences: eu})},
				{ID: "b", Demand: ruled(Rules{Constraints: eu})},
			},
			nodes:  []Node{named("n1", zone("us")), named("n2", func(n *Node) { zone("eu")(n); n.DiskFull = true })},
			placed: []Assignment{{"a", "n1"}, {"b", "n2"}},
		},
		"spread over zones": {
			reason: "the second zone has one node and gets as many as the first, which has two",
			tasks: []Task{
				{ID: "a", Workload: "w", Demand: spreading}, {ID: "b", Workload: "w", Demand: spreading},
				{ID: "c", Workload: "w", Demand: spreading}, {ID: "d", Workload: "w", Demand: spreading},
			},
			nodes:  []Node{named("n1", zone("eu")), named("n2", zone("eu")), named("n3", zone("us"))},
			placed: []Assignment{{"a", "n1"}, {"b", "n3"}, {"c", "n2"}, {"d", "n3"}},
		},
		"reserved memory": {
			reason: "what is reserved is never more than there is",
			tasks: []Task{
				{ID: "a", Demand: &Demand{ReservedMemory: 3 << 30}}, {ID: "b", Demand: &Demand{ReservedMemory: 2 << 30}},
			},
			nodes: []Node{vm(nil)}, placed: []Assignment{{"a", "vm"}},
			refused: []Refusal{{Task: "b",
				Message: "node vm has too little memory left: 2Gi asked, 3Gi of 4Gi are reserved by others",
				Next:    "lower `resources.reservations.memory`, or add a node: tend nodes add"}},
		},
		"reserved cores beside the predecessor": {
			reason: "it fits once the one that it replaces is gone, and the refusal says that this is all",
			tasks: []Task{{ID: "a", Node: "vm", Demand: &Demand{ReservedCPUs: 1.5}},
				{ID: "b", Replaces: "a", Demand: &Demand{ReservedCPUs: 1.5}}},
			nodes: []Node{vm(nil)},
			refused: []Refusal{{Task: "b", Message: "node vm has too few cores left: 1.5 asked, 1.5 of 2 are reserved by others",
				Next: "lower `resources.reservations.cpu`, or add a node: tend nodes add", Crowded: true}},
		},
		"affinity": {
			reason: "beside the other, which is placed in the same moment",
			tasks: []Task{{ID: "x", Node: "n1"}, {ID: "a", Workload: "db"},
				{ID: "b", Workload: "w", Demand: ruled(Rules{Beside: []string{"db"}})}},
			nodes: []Node{named("n1", nil), named("n2", nil)}, placed: []Assignment{{"a", "n2"}, {"b", "n2"}},
		},
		"affinity to nothing": {
			reason: "there is no pod to stand beside",
			tasks:  []Task{{ID: "b", Workload: "w", Demand: ruled(Rules{Beside: []string{"db"}})}}, nodes: []Node{vm(nil)},
			refused: []Refusal{{Task: "b", Message: "node vm runs no pod of db (placement.affinity)",
				Next: "see what `placement.affinity` names: tend get pods"}},
		},
		"apart from its own kind": {
			reason: "one on a node; its successor may stand beside it",
			tasks: []Task{
				{ID: "a", Workload: "w", Node: "n1", Demand: alone}, {ID: "b", Workload: "w", Demand: alone},
				{ID: "c", Workload: "w", Demand: alone},
				{ID: "d", Workload: "w", Replaces: "a", Demand: alone},
			},
			nodes: []Node{named("n1", nil), named("n2", nil)}, placed: []Assignment{{"b", "n2"}, {"d", "n1"}},
			refused: []Refusal{{Task: "c", Message: "2 of 2 nodes run a pod of w",
				Next: "add a node (tend nodes add), or lower the number of pods that stand apart"}},
		},
		"home": {
			reason: "where the data is, and nowhere else",
			tasks:  []Task{{ID: "x", Node: "n2"}, {ID: "a", Volumes: []string{"data"}}, {ID: "b", Volumes: []string{"lost"}}},
			nodes:  []Node{named("n1", nil), named("n2", nil)}, homes: map[string]string{"data": "n2", "lost": "n9"},
			placed: []Assignment{{"a", "n2"}},
			refused: []Refusal{{Task: "b", Message: "2 of 2 nodes do not have its data (lost is on node n9)",
				Next: "see to the node that has the data: tend nodes"}},
		},
		"a home is chosen": {
			reason: "two that share a volume stay together from the beginning",
			tasks: []Task{{ID: "a", Workload: "w", Volumes: []string{"data"}},
				{ID: "b", Workload: "w", Volumes: []string{"data"}}},
			nodes: []Node{named("n1", nil), named("n2", nil)}, placed: []Assignment{{"a", "n1"}, {"b", "n1"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			placed, refused := planOf(tc.tasks, tc.nodes, tc.homes)
			if diff := cmp.Diff(tc.placed, placed) + cmp.Diff(tc.refused, refused); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

var (
	spreading = &Demand{Rules: Rules{Spread: "node.labels.zone"}}
	alone     = &Demand{Rules: Rules{Apart: []string{"w"}}}
)

func TestMisplaced(t *testing.T) {
	rules := Rules{Constraints: []Constraint{{Attribute: "node.labels.zone", Value: "eu"}}, Apart: []string{"w"}}
	for want, n := range map[string]Node{
		"":                   named("n1", zone("eu")),
		"node n2 is drained": named("n2", func(n *Node) { zone("eu")(n); n.Draining = true }),
		"node n4 runs plain processes, not containers: it has networks": named("n4", func(n *Node) { n.Runtime = "process" }),
		"node n3 no longer meets the constraint node.labels.zone == eu": named("n3", zone("us")),
	} {
		if got := Misplaced(n, fit.Need{Containers: "it has networks"}, rules); got != want {
			t.Errorf("%s: %q, want %q", n.ID, got, want)
		}
	}
}
