package placement

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/internal/core/fit"
)

// TestAnUnheardNodeGetsNothing: where another one could have it, heard or as silent. What runs there stays.
func TestAnUnheardNodeGetsNothing(t *testing.T) {
	node := func(id string, edit ...func(*Node)) Node {
		n := Node{ID: id, Alive: true, Ready: true, Runtime: "docker", CPUs: 2}
		for _, change := range edit {
			change(&n)
		}
		return n
	}
	silent := func(n *Node) { n.Unheard, n.LastHeard = true, time.Date(2030, 1, 1, 12, 34, 0, 0, time.UTC) }
	unserved := func(n *Node) { n.Unheard = true }
	awaited := func(n *Node) { n.Unheard, n.Awaited = true, true }
	down := func(n *Node) { n.Alive = false }
	cordoned := func(n *Node) { n.Cordoned = true }
	drained := func(n *Node) { n.Draining = true }
	broken := func(n *Node) { n.Ready = false }
	flapping := func(n *Node) { n.Losses = 3 }
	processes := func(n *Node) { n.Runtime = "process" }
	full := Task{ID: "full", Workload: "other", Node: "b", Demand: &Demand{ReservedCPUs: 2}}
	at, asks := Task{}, &Demand{Need: fit.Need{Containers: "it has networks"}, ReservedCPUs: 1}
	for name, test := range map[string]struct {
		reason string
		nodes  []Node
		other  Task
		on     string
		want   string
		places int
	}{
		"another one is heard": {"it takes the pod", []Node{node("a", silent), node("b")}, at, "b", "", 1},
		"another one has no room": {"which may come as soon as the silent one does",
			[]Node{node("a", silent), node("b")}, full, "", "1 of 2 nodes (a) was last heard at 12:34:00 UTC; " +
				"1 of 2 nodes has no 1 cores left to reserve", 1},
		"the only node":          {"it starts the pod once it is back", []Node{node("a", silent)}, at, "a", "", 1},
		"beside one that is off": {"for days", []Node{node("a", silent), node("b", down)}, at, "a", "", 1},
		"beside two that are off": {"one of them was silent first",
			[]Node{node("a", silent, down), node("b", down), node("c", silent)}, at, "c", "", 1},
		"beside a cordoned one":         {"it takes none", []Node{node("a", silent), node("b", cordoned)}, at, "a", "", 1},
		"beside a drained one":          {"it takes none", []Node{node("a", silent), node("b", drained)}, at, "a", "", 1},
		"beside one without its engine": {"it takes none", []Node{node("a", silent), node("b", broken)}, at, "a", "", 2},
		"beside one that was lost often": {"it takes none yet", []Node{node("a", silent), node("b", flapping)}, at, "a",
			"", 1},
		"beside one of another runtime": {"it takes none of these", []Node{node("a", silent), node("b", processes)}, at,
			"a", "", 1},
		"two are silent": {"the first that is heard gets the pod", []Node{node("a", silent), node("b", silent)}, at, "",
			"2 of 2 nodes have missed two heartbeats", 0},
		"two are silent, one cordoned": {"the other is the only one", []Node{node("a", silent), node("b", silent, cordoned)},
			at, "a", "", 1},
		"with its server": {"nobody knows since when", []Node{node("a", unserved), node("b")}, full, "",
			"1 of 2 nodes (a) is heard by no server; 1 of 2 nodes has no 1 cores left to reserve", 1},
		"its server was just started": {"the others wait with it", []Node{node("a", awaited), node("b"), node("c")}, at, "",
			"1 of 3 nodes (a) has not been heard since its server was started; " +
				"2 of 3 nodes get no pods until the others have had time for a heartbeat", 2},
		"the server of both was just started": {"and of a silent one", []Node{node("a", awaited), node("b", awaited),
			node("c", silent)}, at, "", "3 of 3 nodes have not been heard since their server was started", 0},
		"its server was just started, alone": {"nobody else comes", []Node{node("a", awaited), node("b", drained)}, at,
			"a", "", 1},
		"its server was just started, alone and full": {"time alone changes nothing", []Node{node("a", awaited),
			node("b", drained)}, Task{ID: "full", Node: "a", Demand: full.Demand}, "",
			"1 of 2 nodes is drained; 1 of 2 nodes has no 1 cores left to reserve", 1},
		"its server was just started, of another runtime": {"it is not waited for", []Node{node("a", awaited, processes),
			node("b")}, at, "b", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			placed, refused := planOf([]Task{test.other, {ID: "t", Workload: "web", Demand: asks}}, test.nodes, nil)
			on, message, awaits := "", "", false
			for _, a := range placed {
				if a.Task == "t" {
					on = a.Node
				}
			}
			for _, r := range refused {
				if r.Task == "t" {
					message, awaits = r.Message, r.Awaits
				}
			}
			if on != test.on || message != test.want || awaits != strings.Contains(test.want, "was started") {
				t.Errorf("%s: on %q, %q, awaits %v", test.reason, on, message, awaits)
			}
			if n := Places(test.nodes, asks.Need, Rules{}, map[string]bool{}); n != test.places {
				t.Errorf("%d places for a pod on each node, want %d", n, test.places)
			}
		})
	}
	if why := Misplaced(node("a", silent), asks.Need, Rules{}); why != "" {
		t.Errorf("a pod that runs there may not stay: %s", why)
	}
}

// TestAnUnheardNodeIsTheLastResort: in any cluster, a silent node gets a task if and only if it would get it while it
// were heard, and no other node that is alive could have it.
func TestAnUnheardNodeIsTheLastResort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, nodes := randomTasks(t), randomNodes(t)
		waiting := 0
		tasks = slices.DeleteFunc(tasks, func(task Task) bool { // one waits, so that no other one is in its way
			if task.Node == "" && !task.Stopped && !task.Leaving {
				waiting++
			}
			return task.Node == "" && waiting > 1
		})
		heard := slices.Clone(nodes)
		for i := range nodes {
			nodes[i].Awaited, heard[i].Unheard, heard[i].Awaited = false, false, false
		}
		placed, _ := planOf(tasks, nodes, nil)
		for _, task := range tasks {
			if task.Node != "" || task.Stopped || task.Leaving {
				continue
			}
			m := &model{tasks: slices.Clone(tasks), nodes: nodes, homes: map[string]string{}}
			m.settle()
			could := slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return !m.could(task, n) })
			var want []Assignment
			switch {
			case len(could) == 1: // whether it is silent changes nothing
				want, _ = planOf(tasks, heard, nil)
			case len(could) > 1:
				want, _ = planOf(tasks, slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return n.Unheard }), nil)
			}
			if diff := cmp.Diff(want, placed); diff != "" {
				t.Fatalf("%d nodes could have %s (-want +got):\n%s", len(could), task.ID, diff)
			}
		}
	})
}

// TestARebalanceSparesAnUnheardNode: it gets no pod by a rebalance either, and gives none away: what it runs may be
// well.
func TestARebalanceSparesAnUnheardNode(t *testing.T) {
	var tasks []Task
	for _, id := range []string{"t1", "t2", "t3", "t4"} {
		tasks = append(tasks, Task{ID: id, Workload: "web", Node: "a", Demand: &Demand{}})
	}
	for silent, want := range map[string]int{"": 2, "a": 0, "b": 0} {
		nodes := []Node{{ID: "a", Alive: true, Ready: true}, {ID: "b", Alive: true, Ready: true}}
		for i := range nodes {
			nodes[i].Unheard = nodes[i].ID == silent
		}
		if moves := Rebalance(tasks, nodes, nil, func(Task) bool { return true }); len(moves) != want {
			t.Errorf("%q is unheard: %v", silent, moves)
		}
	}
}
