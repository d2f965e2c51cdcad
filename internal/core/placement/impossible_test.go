package placement

import (
	"strings"
	"testing"

	"tend.dev/tend/internal/core/fit"
)

// TestImpossible: what no node has in all is said, and nothing is of what is only in use, or away, at the moment.
func TestImpossible(t *testing.T) {
	t.Parallel()
	n1 := Node{ID: "n1", Alive: true, Ready: true, CPUs: 2, MemoryBytes: 4 << 30, Runtime: "docker",
		Attributes: map[string]string{"node.labels.disk": "hdd"}}
	n2 := Node{ID: "n2", CPUs: 8, MemoryBytes: 2 << 30, Runtime: "docker"}
	fills := []Task{{ID: "t", Workload: "w", Node: "n1", Demand: &Demand{ReservedMemory: 4 << 30}}}
	ssd := Rules{Constraints: []Constraint{{Attribute: "node.labels.disk", Value: "ssd"}}}
	for what, test := range map[string]struct {
		nodes  []Node
		demand *Demand
		want   string
	}{
		"nothing is asked":       {[]Node{n1, n2}, nil, ""},
		"there is no node":       {nil, &Demand{MemoryBytes: 1 << 40}, ""},
		"reserved by another":    {[]Node{n1}, &Demand{ReservedMemory: 1 << 30}, ""},
		"only one that is away":  {[]Node{n1, n2}, &Demand{CPUs: 8}, ""},
		"too much memory":        {[]Node{n1, n2}, &Demand{MemoryBytes: 5 << 30}, "no node has 5Gi of memory; n1 has 4Gi"},
		"too much is reserved":   {[]Node{n1, n2}, &Demand{ReservedCPUs: 9}, "no node has 9 cores; n2 has 8"},
		"no runtime":             {[]Node{n1}, &Demand{Need: fit.Need{Processes: "it is a program"}}, "it is a program"},
		"a label that one lacks": {[]Node{n1}, &Demand{Rules: ssd}, "node n1 does not meet the constraint"},
		"a label that all lack":  {[]Node{n1, n2}, &Demand{Rules: ssd}, "none of 2 nodes meets its constraints; node n1"},
	} {
		r, ok := survey(fills, test.nodes, nil).Impossible(test.demand)
		if ok != (test.want != "") || !strings.Contains(r.Message, test.want) || ok != (r.Next != "") {
			t.Errorf("%s: %v %+v", what, ok, r)
		}
	}
}
