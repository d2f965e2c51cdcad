package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/ports"
)

func randomNodes(t *rapid.T) []Node {
	var out []Node
	count := rapid.IntRange(0, 5).Draw(t, "nodes")
	for i := range count {
		n := Node{
			ID: fmt.Sprintf("n%d", i), Alive: rapid.IntRange(0, 5).Draw(t, "silent") > 0,
			Ready:       rapid.IntRange(0, 5).Draw(t, "unready") > 0,
			Draining:    rapid.IntRange(0, 5).Draw(t, "draining") == 0,
			Runtime:     rapid.SampledFrom([]string{"docker", "docker", "process"}).Draw(t, "runtime"),
			MemoryBytes: rapid.Int64Range(0, 4).Draw(t, "memory"), CPUs: float64(rapid.IntRange(0, 4).Draw(t, "cores")),
			DiskFull:   rapid.IntRange(0, 5).Draw(t, "full") == 0,
			Cordoned:   rapid.IntRange(0, 5).Draw(t, "cordoned") == 0,
			Attributes: map[string]string{"zone": rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "zone")},
		}
		n.Unheard = rapid.IntRange(0, 3).Draw(t, "unheard") == 0
		n.Awaited = n.Unheard && rapid.IntRange(0, 2).Draw(t, "awaited") == 0
		n.Arch = rapid.SampledFrom([]string{"", "amd64", "amd64", "arm64"}).Draw(t, "arch")
		out = append(out, n)
	}
	return out
}

func randomDemand(t *rapid.T) *Demand {
	d := &Demand{
		Need:        rapid.SampledFrom([]fit.Need{{}, {Containers: "it does"}, {Processes: "it does"}}).Draw(t, "need"),
		Arch:        rapid.SampledFrom([]string{"", "", "amd64"}).Draw(t, "arch"),
		MemoryBytes: rapid.Int64Range(0, 4).Draw(t, "memory"), CPUs: float64(rapid.IntRange(0, 3).Draw(t, "cores")),
		ReservedMemory: rapid.Int64Range(0, 2).Draw(t, "reserved memory"),
		ReservedCPUs:   float64(rapid.IntRange(0, 2).Draw(t, "reserved cores")) / 2,
		Rules: Rules{
			Constraints: randomConstraints(t, "constraints"), Preferences: randomConstraints(t, "preferences"),
			Spread: rapid.SampledFrom([]string{"", "", "zone"}).Draw(t, "spread"),
			Beside: randomWorkload(t, "beside"), Apart: randomWorkload(t, "apart"),
		},
	}
	for range rapid.IntRange(0, 2).Draw(t, "ports") {
		ip := rapid.SampledFrom([]string{"0.0.0.0", "127.0.0.1", "10.0.0.1"}).Draw(t, "ip")
		d.Ports = append(d.Ports, fixed(fmt.Sprintf("%s:%d:80", ip, rapid.IntRange(1, 3).Draw(t, "port")))...)
	}
	return d
}

func randomConstraints(t *rapid.T, label string) (out []Constraint) {
	for range max(0, rapid.IntRange(-2, 1).Draw(t, label)) {
		out = append(out, Constraint{Attribute: "zone", Value: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "value"),
			Not: rapid.Bool().Draw(t, "not")})
	}
	return out
}

func randomWorkload(t *rapid.T, label string) []string {
	return map[int][]string{0: {"w0"}, 1: {"w1"}}[rapid.IntRange(0, 7).Draw(t, label)]
}

func randomTasks(t *rapid.T) []Task {
	var out []Task
	demands := []*Demand{randomDemand(t), randomDemand(t), randomDemand(t)}
	for i := range rapid.IntRange(0, 12).Draw(t, "tasks") {
		task := Task{
			ID: fmt.Sprintf("t%d", i), Workload: rapid.SampledFrom([]string{"w0", "w1"}).Draw(t, "workload"),
			Node:    rapid.SampledFrom([]string{"", "", "n0", "n1", "n9"}).Draw(t, "node"),
			Leaving: rapid.IntRange(0, 3).Draw(t, "leaving") == 0, Stopped: rapid.IntRange(0, 5).Draw(t, "stopped") == 0,
			Demand:    rapid.SampledFrom(demands).Draw(t, "demand"),
			CreatedAt: epoch.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "age"))),
		}
		if rapid.IntRange(0, 5).Draw(t, "has a volume") == 0 {
			task.Volumes = []string{rapid.SampledFrom([]string{"v0", "v1"}).Draw(t, "volume")}
		}
		if i > 0 && rapid.Bool().Draw(t, "replaces") {
			task.Replaces = fmt.Sprintf("t%d", rapid.IntRange(0, i-1).Draw(t, "predecessor"))
			if rapid.Bool().Draw(t, "stop-first") {
				task.After = task.Replaces
			}
		}
		out = append(out, task)
	}
	return out
}

func shuffle[T any](t *rapid.T, in []T) []T {
	out := slices.Clone(in)
	rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)).Shuffle(len(out),
		func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func TestOrderChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, nodes := randomTasks(t), randomNodes(t)
		placed, refused := planOf(tasks, nodes, nil)
		again, refusedAgain := planOf(shuffle(t, tasks), shuffle(t, nodes), nil)
		if diff := cmp.Diff(placed, again) + cmp.Diff(refused, refusedAgain); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Every waiting task is either placed once, on a node that takes it, or refused once, with words.
func TestPlacesOnlyWhereItFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, nodes := randomTasks(t), randomNodes(t)
		placed, refused := planOf(tasks, nodes, nil)
		answered := map[string]int{}
		for _, a := range placed {
			answered[a.Task]++
			task := find(tasks, func(t Task) bool { return t.ID == a.Task })
			if node := find(nodes, func(n Node) bool { return n.ID == a.Node }); !suits(task, node) {
				t.Fatalf("%+v was put on %+v", task, node)
			}
		}
		for _, r := range refused {
			answered[r.Task]++
			if r.Message == "" {
				t.Fatalf("task %s was refused without a word", r.Task)
			}
		}
		for _, task := range tasks {
			want := 0
			if task.Node == "" && !task.Stopped && !task.Leaving {
				want = 1
			}
			if answered[task.ID] != want {
				t.Fatalf("%+v has %d answers, want %d", task, answered[task.ID], want)
			}
		}
	})
}

// suits checks a node without what runs there, in the simplest way.
func suits(t Task, n Node) bool {
	return n.Alive && n.Ready && !n.Draining && !n.Cordoned && (t.Need.Containers == "" || n.Runtime != "process") &&
		(t.Need.Processes == "" || n.Runtime == "process") &&
		(t.Arch == "" || n.Arch == "" || t.Arch == n.Arch) &&
		(n.MemoryBytes == 0 || t.MemoryBytes <= n.MemoryBytes) && (n.CPUs == 0 || t.CPUs <= n.CPUs)
}

func find[T any](in []T, is func(T) bool) T {
	return in[slices.IndexFunc(in, is)]
}

// No port of a node gets two tasks, except for one that starts after the other.
func TestNoPortTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, nodes := randomTasks(t), randomNodes(t)
		placed, _ := planOf(tasks, nodes, nil)
		for _, a := range placed {
			task := find(tasks, func(t Task) bool { return t.ID == a.Task })
			for _, other := range tasks {
				node := other.Node
				if i := slices.IndexFunc(placed, func(b Assignment) bool { return b.Task == other.ID }); i >= 0 {
					node = placed[i].Node
				}
				apart := other.ID == task.ID || other.Stopped || node != a.Node ||
					task.After == other.ID || other.After == task.ID && other.After != ""
				if !apart && slices.ContainsFunc(task.Ports,
					func(p ports.Port) bool { return slices.ContainsFunc(other.Ports, p.Clashes) }) {
					t.Fatalf("%+v and %+v share a port of %s", task, other, a.Node)
				}
			}
		}
	})
}

// Equal tasks on equal nodes are spread evenly.
func TestSpreadsEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []Node
		for i := range rapid.IntRange(1, 7).Draw(t, "nodes") {
			nodes = append(nodes, Node{ID: fmt.Sprintf("n%d", i), Alive: true, Ready: true, CPUs: 2})
		}
		var tasks []Task
		for i := range rapid.IntRange(0, 40).Draw(t, "tasks") {
			tasks = append(tasks, Task{ID: fmt.Sprintf("t%d", i), Workload: "web"})
		}
		placed, _ := planOf(tasks, nodes, nil)
		count := map[string]int{}
		for _, a := range placed {
			count[a.Node]++
		}
		least, most := len(tasks), 0
		for _, n := range nodes {
			least, most = min(least, count[n.ID]), max(most, count[n.ID])
		}
		if len(placed) != len(tasks) || most-least > 1 {
			t.Fatalf("%d of %d tasks, between %d and %d on a node", len(placed), len(tasks), least, most)
		}
	})
}

// TestManyWorkloadsSpreadEvenly: the pods of each of many workloads differ by one at most between nodes, and so do all
// pods together.
func TestManyWorkloadsSpreadEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []Node
		for i := range rapid.IntRange(2, 7).Draw(t, "nodes") {
			nodes = append(nodes, Node{ID: fmt.Sprintf("n%d", i), Alive: true, Ready: true, CPUs: 2})
		}
		var tasks []Task
		for w := range rapid.IntRange(2, 30).Draw(t, "workloads") {
			for i := range rapid.IntRange(0, 9).Draw(t, "replicas") {
				tasks = append(tasks, Task{ID: fmt.Sprintf("t%d-%d", w, i), Workload: fmt.Sprintf("web%d", w)})
			}
		}
		placed, refused := planOf(tasks, nodes, nil)
		if len(refused) > 0 || len(placed) != len(tasks) {
			t.Fatalf("%d of %d tasks placed, refused: %v", len(placed), len(tasks), refused)
		}
		workload, counts := map[string]string{}, map[string]map[string]int{}
		for _, task := range tasks {
			workload[task.ID] = task.Workload
		}
		for _, a := range placed {
			for _, group := range []string{workload[a.Task], "all pods"} {
				if counts[group] == nil {
					counts[group] = map[string]int{}
				}
				counts[group][a.Node]++
			}
		}
		for group, on := range counts {
			least, most := len(tasks), 0
			for _, n := range nodes {
				least, most = min(least, on[n.ID]), max(most, on[n.ID])
			}
			if most-least > 1 {
				t.Fatalf("%s: between %d and %d on a node: %v", group, least, most, on)
			}
		}
	})
}
