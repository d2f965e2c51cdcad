package placement

import (
	"testing"
	"time"

	"tend.dev/tend/internal/core/fit"
)

// TestAnUnheardNodeGetsNothing: where there is another one, or several are as silent. What runs there stays.
func TestAnUnheardNodeGetsNothing(t *testing.T) {
	unheard := func(id string) Node {
		return Node{ID: id, Alive: true, Ready: true, Runtime: "docker", Unheard: true,
			LastHeard: time.Date(2030, 1, 1, 12, 34, 0, 0, time.UTC)}
	}
	alone := unheard("c")
	alone.LastHeard = time.Time{}
	cordoned, down := Node{ID: "z", Alive: true, Ready: true, Cordoned: true}, unheard("b")
	down.Alive = false
	processes := unheard("b")
	processes.Runtime, processes.LastHeard = "process", time.Time{}
	for name, test := range map[string]struct {
		reason string
		nodes  []Node
		need   fit.Need
		on     string
		want   string
		places int
	}{
		"another one is heard": {"it takes the pod", []Node{unheard("a"), {ID: "b", Alive: true, Ready: true}}, fit.Need{},
			"b", "", 1},
		"the only node": {"it has the pod to start once it is back", []Node{unheard("a")}, fit.Need{}, "a", "", 1},
		"beside a cordoned one": {"the time is said of one", []Node{unheard("a"), cordoned}, fit.Need{}, "",
			"1 of 2 nodes (a) was last heard at 12:34:00 UTC; 1 of 2 nodes is cordoned", 0},
		"with its server": {"nobody knows since when", []Node{alone, cordoned}, fit.Need{}, "",
			"1 of 2 nodes (c) is heard by no server; 1 of 2 nodes is cordoned", 0},
		"several": {"they are counted", []Node{unheard("a"), unheard("b")}, fit.Need{}, "",
			"2 of 2 nodes have missed two heartbeats", 0},
		"beside one that is down": {"that counts as down alone", []Node{down, unheard("c")}, fit.Need{}, "",
			"1 of 2 nodes does not answer; 1 of 2 nodes (c) was last heard at 12:34:00 UTC", 0},
		"beside one of another runtime": {"which would not be chosen anyway", []Node{unheard("a"), processes},
			fit.Need{Containers: "it has networks"}, "", "1 of 2 nodes runs plain processes, not containers: it has networks; " +
				"1 of 2 nodes (a) was last heard at 12:34:00 UTC", 0},
	} {
		t.Run(name, func(t *testing.T) {
			placed, refused := planOf([]Task{{ID: "t", Workload: "web", Demand: &Demand{Need: test.need}}}, test.nodes, nil)
			on, message := "", ""
			if len(placed) > 0 {
				on = placed[0].Node
			}
			if len(refused) > 0 {
				message = refused[0].Message
			}
			if on != test.on || message != test.want {
				t.Errorf("%s: on %q, %q", test.reason, on, message)
			}
			if n := Places(test.nodes, test.need, Rules{}, map[string]bool{}); n != test.places {
				t.Errorf("%d places for a pod on each node, want %d", n, test.places)
			}
			if why := Misplaced(test.nodes[0], test.need, Rules{}); why != "" {
				t.Errorf("a pod that runs there may not stay: %s", why)
			}
		})
	}
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
