package placement

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/internal/core/ports"
)

// model places tasks one by one, and looks at everything each time.
type model struct {
	tasks []Task
	nodes []Node
	homes map[string]string
}

// settle finds the homes of volumes that tasks have used.
func (m *model) settle() {
	slices.SortFunc(m.tasks, func(a, b Task) int { return strings.Compare(a.ID, b.ID) })
	for _, t := range m.tasks {
		for _, volume := range t.Volumes {
			if m.homes[volume] == "" && t.Node != "" {
				m.homes[volume] = t.Node
			}
		}
	}
}

func (m *model) place() map[string]string {
	m.settle()
	slices.SortFunc(m.tasks, func(a, b Task) int {
		if at := a.CreatedAt.Compare(b.CreatedAt); at != 0 {
			return at
		}
		return strings.Compare(a.ID, b.ID)
	})
	slices.SortFunc(m.nodes, func(a, b Node) int { return strings.Compare(a.ID, b.ID) })
	placed := map[string]string{}
	for i, t := range m.tasks {
		if t.Node != "" || t.Stopped || t.Leaving {
			continue
		}
		fitting := slices.DeleteFunc(slices.Clone(m.nodes), func(n Node) bool { return !m.fits(t, n) })
		if len(fitting) == 0 {
			continue
		}
		best := slices.MinFunc(fitting, func(a, b Node) int { return slices.Compare(m.worth(t, a), m.worth(t, b)) })
		m.tasks[i].Node, placed[t.ID] = best.ID, best.ID
		for _, volume := range t.Volumes {
			if m.homes[volume] == "" {
				m.homes[volume] = best.ID
			}
		}
	}
	return placed
}

// on returns the tasks of a node that hold something there.
func (m *model) on(node string) []Task {
	return slices.DeleteFunc(slices.Clone(m.tasks), func(t Task) bool { return t.Node != node || t.Stopped })
}

func (m *model) live(node, workload string) (n int) {
	for _, t := range m.on(node) {
		if t.Workload == workload && !t.Leaving {
			n++
		}
	}
	return n
}

// could reports whether a node may take a task, whatever runs there, and also if it is silent.
func (m *model) could(t Task, n Node) bool {
	if !suits(t, n) {
		return false
	}
	for _, volume := range t.Volumes {
		if home := m.homes[volume]; home != "" && home != n.ID {
			return false
		}
	}
	for _, each := range t.Rules.Constraints {
		if (n.Attributes[each.Attribute] == each.Value) == each.Not {
			return false
		}
	}
	return true
}

// silence reports whether a node is kept from a task by its own silence, or by that of another one at which the server
// has just begun to listen.
func (m *model) silence(t Task, n Node) bool {
	for _, other := range m.nodes {
		if other.ID != n.ID && m.could(t, other) && (n.Unheard || other.Awaited) {
			return true
		}
	}
	return false
}

func (m *model) fits(t Task, n Node) bool {
	if !m.could(t, n) || m.silence(t, n) {
		return false
	}
	memory, cpus := t.ReservedMemory, t.ReservedCPUs
	apart := map[string]int{}
	for _, other := range m.on(n.ID) {
		gone := t.After != "" && (other.ID == t.After || other.ID == t.Replaces)
		if !other.Leaving && other.ID != t.Replaces {
			apart[other.Workload]++
		}
		if gone {
			continue
		}
		memory, cpus = memory+other.ReservedMemory, cpus+other.ReservedCPUs
		if slices.ContainsFunc(t.Ports, func(p ports.Port) bool { return slices.ContainsFunc(other.Ports, p.Clashes) }) {
			return false
		}
	}
	tight := t.ReservedMemory > 0 && n.MemoryBytes > 0 && memory > n.MemoryBytes ||
		t.ReservedCPUs > 0 && n.CPUs > 0 && cpus > n.CPUs
	beside := func(w string) bool { return m.live(n.ID, w) == 0 }
	return !tight && !slices.ContainsFunc(t.Rules.Beside, beside) &&
		!slices.ContainsFunc(t.Rules.Apart, func(w string) bool { return apart[w] > 0 })
}

// worth compares nodes; the least is the best.
func (m *model) worth(t Task, n Node) (out []float64) {
	full := 0.0
	if n.DiskFull {
		full = 1
	}
	out = append(out, full)
	for _, each := range t.Rules.Preferences {
		unmet := 0.0
		if (n.Attributes[each.Attribute] == each.Value) == each.Not {
			unmet = 1
		}
		out = append(out, unmet)
	}
	if t.Rules.Spread != "" {
		same := 0
		for _, other := range m.nodes {
			if other.Attributes[t.Rules.Spread] == n.Attributes[t.Rules.Spread] {
				same += m.live(other.ID, t.Workload)
			}
		}
		out = append(out, float64(same))
	}
	load := int64(0)
	for _, other := range m.on(n.ID) {
		if !other.Leaving {
			load += newSite(n).share(other)
		}
	}
	return append(out, float64(m.live(n.ID, t.Workload)), float64(load))
}

// The heap finds the node that a search of all nodes finds.
func TestPlanIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, nodes := randomTasks(t), randomNodes(t)
		homes := map[string]string{}
		if rapid.Bool().Draw(t, "v0 has a home") {
			homes["v0"] = "n1"
		}
		m := &model{tasks: slices.Clone(tasks), nodes: slices.Clone(nodes), homes: maps.Clone(homes)}
		placed, _ := planOf(tasks, nodes, homes)
		got := map[string]string{}
		for _, a := range placed {
			got[a.Task] = a.Node
		}
		if diff := cmp.Diff(m.place(), got); diff != "" {
			t.Fatal(diff)
		}
	})
}
