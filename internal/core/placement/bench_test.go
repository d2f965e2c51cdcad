package placement

import (
	"fmt"
	"testing"
)

// BenchmarkPlan places tasks with reservations, a constraint and a spread. It reports decisions a second.
func BenchmarkPlan(b *testing.B) {
	for _, size := range []struct{ nodes, placed, waiting int }{{10, 500, 10}, {100, 0, 10_000}, {1_000, 0, 20_000},
		{5_000, 100_000, 10_000}} {
		b.Run(fmt.Sprintf("nodes=%d/placed=%d/waiting=%d", size.nodes, size.placed, size.waiting), func(b *testing.B) {
			nodes, tasks := benchmarked(size.nodes, size.placed, size.waiting)
			for b.Loop() {
				if placed, _ := planOf(tasks, nodes, nil); len(placed) != size.waiting {
					b.Fatalf("%d placed", len(placed))
				}
			}
			b.ReportMetric(float64(size.waiting)*float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}

func benchmarked(nodes, placed, waiting int) (on []Node, tasks []Task) {
	for i := range nodes {
		on = append(on, Node{
			ID: fmt.Sprintf("n%d", i), Alive: true, Ready: true, CPUs: 64, MemoryBytes: 256 << 30,
			Attributes: map[string]string{"node.labels.zone": fmt.Sprint(i % 3),
				"node.labels.disk": []string{"ssd", "hdd"}[i%2]},
		})
	}
	demands := make([]*Demand, 50)
	for i := range demands {
		demands[i] = &Demand{ReservedMemory: 512 << 20, ReservedCPUs: .25, Rules: Rules{
			Constraints: []Constraint{{Attribute: "node.labels.disk", Value: "ssd"}}, Spread: "node.labels.zone",
		}}
	}
	for i := range placed + waiting {
		t := Task{ID: fmt.Sprintf("t%d", i), Workload: fmt.Sprintf("w%d", i%len(demands)), Demand: demands[i%len(demands)]}
		if i < placed {
			t.Node = on[i%nodes].ID
		}
		tasks = append(tasks, t)
	}
	return on, tasks
}

// BenchmarkPlanBesideSilentNodes is BenchmarkPlan where no server hears one node in ten.
func BenchmarkPlanBesideSilentNodes(b *testing.B) {
	nodes, tasks := benchmarked(1_000, 0, 20_000)
	for i := range nodes {
		nodes[i].Unheard = i%10 == 0
	}
	for b.Loop() {
		if placed, _ := planOf(tasks, nodes, nil); len(placed) != 20_000 {
			b.Fatalf("%d placed", len(placed))
		}
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

// BenchmarkForesee measures the question of a step that creates ten tasks.
func BenchmarkForesee(b *testing.B) {
	for _, size := range []struct{ nodes, placed int }{{10, 500}, {1_000, 20_000}, {5_000, 100_000}} {
		b.Run(fmt.Sprintf("nodes=%d/placed=%d", size.nodes, size.placed), func(b *testing.B) {
			nodes, tasks := benchmarked(size.nodes, size.placed, 10)
			l := survey(tasks[:size.placed], nodes, nil)
			for b.Loop() {
				if placed := l.Foresee(tasks[size.placed:], nil); len(placed) != 10 {
					b.Fatalf("%d placed", len(placed))
				}
			}
		})
	}
}
