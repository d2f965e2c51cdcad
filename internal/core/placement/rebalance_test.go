package placement

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func all(Task) bool { return true }

// moved returns the tasks where the moves put them.
func moved(tasks []Task, moves []Move) []Task {
	out := slices.Clone(tasks)
	for _, m := range moves {
		out[slices.IndexFunc(out, func(t Task) bool { return t.ID == m.Task })].Node = m.To
	}
	return out
}

// on returns n tasks of a workload on a node.
func on(node, workload string, n int, demand *Demand) (out []Task) {
	for i := range n {
		out = append(out, Task{
			ID: fmt.Sprintf("%s.%s.%d", workload, node, i), Workload: workload, Node: node, Demand: demand,
			CreatedAt: epoch.Add(time.Duration(i)),
		})
	}
	return out
}

func TestRebalance(t *testing.T) {
	node := func(id string, change ...func(*Node)) Node {
		n := Node{ID: id, Alive: true, Ready: true, CPUs: 4, MemoryBytes: 8 << 30,
			Attributes: map[string]string{"node.id": id}}
		for _, c := range change {
			c(&n)
		}
		return n
	}
	zone := func(value string) func(*Node) { return func(n *Node) { n.Attributes["zone"] = value } }
	for name, test := range map[string]struct {
		reason string
		tasks  []Task
		nodes  []Node
		homes  map[string]string
		want   []string
	}{
		"a new node": {
			reason: "the youngest go to the empty node until the numbers differ by one",
			tasks:  on("a", "web", 4, nil), nodes: []Node{node("a"), node("b")},
			want: []string{"web.a.3 a→b: a has 4 pods of it, b has 0", "web.a.2 a→b: a has 3 pods of it, b has 1"},
		},
		"one more": {
			reason: "a difference of one can't be levelled",
			tasks:  append(on("a", "web", 2, nil), on("b", "web", 1, nil)...), nodes: []Node{node("a"), node("b")},
		},
		"the load of others": {
			reason: "each workload has one pod, so the load decides",
			tasks:  append(append(on("a", "web", 1, nil), on("a", "shop", 1, nil)...), on("a", "mail", 1, nil)...),
			nodes:  []Node{node("a"), node("b")},
			want:   []string{"web.a.0 a→b: a has more to do than b"},
		},
		"a constraint": {
			reason: "the other node does not meet it",
			tasks:  on("a", "web", 4, &Demand{Rules: Rules{Constraints: []Constraint{{Attribute: "node.id", Value: "a"}}}}),
			nodes:  []Node{node("a"), node("b")},
		},
		"a reservation": {
			reason: "the other node has room for one",
			tasks:  on("a", "web", 4, &Demand{ReservedCPUs: 1}),
			nodes:  []Node{node("a"), node("b", func(n *Node) { n.CPUs = 1 })},
			want:   []string{"web.a.3 a→b: a has 4 pods of it, b has 0"},
		},
		"a preference": {
			reason: "the other node does not meet it, and all would come back at the next rollout",
			tasks:  on("a", "web", 4, &Demand{Rules: Rules{Preferences: []Constraint{{Attribute: "node.id", Value: "a"}}}}),
			nodes:  []Node{node("a"), node("b")},
		},
		"data": {
			reason: "its home is where it is",
			tasks: []Task{{ID: "1", Workload: "db", Node: "a", Volumes: []string{"v"}},
				{ID: "2", Workload: "db", Node: "a", Volumes: []string{"v"}}},
			nodes: []Node{node("a"), node("b")}, homes: map[string]string{"v": "a"},
		},
		"zones": {
			reason: "b has as many pods as a, but its zone has fewer",
			tasks:  slices.Concat(on("a", "web", 2, zoned), on("b", "web", 2, zoned), on("c", "web", 1, zoned)),
			nodes:  []Node{node("a", zone("x")), node("b", zone("x")), node("c", zone("y"))},
			want:   []string{"web.b.1 b→c: 4 pods of it have zone x, 1 have y"},
		},
		"beside": {
			reason: "the last pod that another stands beside stays",
			tasks: slices.Concat(on("a", "cache", 1, nil), on("a", "web", 1, &Demand{Rules: Rules{Beside: []string{"cache"}}}),
				on("a", "mail", 1, nil)),
			nodes: []Node{node("a"), node("b")},
			want:  []string{"mail.a.0 a→b: a has more to do than b"},
		},
		"cordoned": {
			reason: "a cordoned node keeps its pods and gets none",
			tasks:  append(on("a", "web", 4, nil), on("b", "shop", 4, nil)...),
			nodes:  []Node{node("a"), node("b", func(n *Node) { n.Cordoned = true })},
		},
		"a full disk": {
			reason: "nothing moves to it, and what is there may go",
			tasks:  append(on("a", "web", 4, nil), on("b", "shop", 4, nil)...),
			nodes:  []Node{node("a"), node("b", func(n *Node) { n.DiskFull = true })},
			want:   []string{"shop.b.3 b→a: b has 4 pods of it, a has 0", "shop.b.2 b→a: b has 3 pods of it, a has 1"},
		},
		"silent": {
			reason: "what runs on a silent node is not known", tasks: append(on("a", "web", 4, nil), on("b", "shop", 4, nil)...),
			nodes: []Node{node("a"), node("b", func(n *Node) { n.Alive = false })},
		},
		"drained": {
			reason: "it is emptied anyway", tasks: append(on("a", "web", 4, nil), on("b", "shop", 4, nil)...),
			nodes: []Node{node("a"), node("b", func(n *Node) { n.Draining = true })},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, m := range Rebalance(test.tasks, test.nodes, test.homes, all) {
				got = append(got, fmt.Sprintf("%s %s→%s: %s", m.Task, m.From, m.To, m.Why))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

var zoned = &Demand{Rules: Rules{Spread: "zone"}}

// Once the moves are made there are no more; every task went to a node that takes it, from one that answers.
func TestRebalancingTwiceMovesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, nodes := randomTasks(t), randomNodes(t)
		placed, _ := planOf(tasks, nodes, nil)
		for _, a := range placed {
			tasks[slices.IndexFunc(tasks, func(t Task) bool { return t.ID == a.Task })].Node = a.Node
		}
		for i := range tasks { // a crowd
			if tasks[i].Node != "" && rapid.Bool().Draw(t, "crowded") {
				tasks[i].Node = "n0"
			}
		}
		movable := func(task Task) bool { return len(task.Volumes) == 0 }
		moves := Rebalance(tasks, nodes, nil, movable)
		for _, m := range moves {
			task := find(tasks, func(t Task) bool { return t.ID == m.Task })
			to := find(nodes, func(n Node) bool { return n.ID == m.To })
			from := find(nodes, func(n Node) bool { return n.ID == m.From })
			if !suits(task, to) || !from.Alive || from.Cordoned || from.Draining || m.From != task.Node ||
				m.From == m.To || !movable(task) {
				t.Fatalf("%+v moves by %+v", task, m)
			}
		}
		if again := Rebalance(moved(tasks, moves), nodes, nil, movable); len(again) > 0 {
			t.Fatalf("%+v, and then %+v", moves, again)
		}
	})
}

// Wherever equal tasks are on equal nodes, they are level afterwards, and few more of them move than must. What Plan
// placed is level already.
func TestRebalanceLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []Node
		for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
			nodes = append(nodes, Node{ID: fmt.Sprintf("n%d", i), Alive: true, Ready: true, CPUs: 2})
		}
		var tasks []Task
		for i := range rapid.IntRange(0, 30).Draw(t, "tasks") {
			tasks = append(tasks, Task{ID: fmt.Sprintf("t%d", i), Workload: "web"})
		}
		fresh := slices.Clone(tasks)
		placed, _ := planOf(fresh, nodes, nil)
		for i, a := range placed {
			fresh[i].Node = a.Node
		}
		if moves := Rebalance(fresh, nodes, nil, all); len(moves) > 0 {
			t.Fatalf("%+v were placed well, and move: %+v", placed, moves)
		}
		count := map[string]int{}
		for i := range tasks {
			tasks[i].Node = rapid.SampledFrom(nodes).Draw(t, "node").ID
			count[tasks[i].Node]++
		}
		surplus, share := 0, (len(tasks)+len(nodes)-1)/len(nodes)
		for _, n := range nodes {
			surplus += max(0, count[n.ID]-share)
		}
		moves := Rebalance(tasks, nodes, nil, all)
		for _, m := range moves {
			count[m.From]--
			count[m.To]++
		}
		least, most := len(tasks), 0
		for _, n := range nodes {
			least, most = min(least, count[n.ID]), max(most, count[n.ID])
		}
		if most-least > 1 || len(moves) > surplus+len(nodes) {
			t.Fatalf("between %d and %d on a node after %d moves; %d had to move", least, most, len(moves), surplus)
		}
	})
}
