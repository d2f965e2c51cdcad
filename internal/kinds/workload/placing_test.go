package workload

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// overtakes makes another writer place a task before each commit of the controller that places some.
func (l *harness) overtakes() (times func() int) {
	n := 0
	l.before = func(txn store.Txn) {
		for _, op := range txn.Do {
			if op.Key == records.PlacingKey {
				n++
				l.write(func(txn *records.Txn) { txn.Put(records.PlacingKey, "placed") })
			}
		}
	}
	return func() int { return n }
}

// TestAReleaseItsTasksAndTheirNodesAreOneCommit, and what is lost to another who places is one without nodes: no step
// fails for it.
func TestAReleaseItsTasksAndTheirNodesAreOneCommit(t *testing.T) {
	for _, overtaken := range []bool{false, true} {
		l := newHarness(t)
		l.apply(replicas(2, "web:1"))
		l.looks()
		l.runAgent()
		times := func() int { return 0 }
		if overtaken {
			times = l.overtakes()
		}
		l.commits = nil
		l.looks()
		on := map[string]int{}
		for _, node := range l.homes() {
			on[node]++
		}
		want := map[string]int{"n1": 2}
		if overtaken {
			want = map[string]int{"": 2}
		}
		if diff := cmp.Diff(want, on); diff != "" || len(l.commits) != 1 || overtaken != (times() > 0) {
			t.Errorf("overtaken: %v, %d times; %d commits; tasks by node (-want +got):\n%s",
				overtaken, times(), len(l.commits), diff)
		}
		l.settle()
		for task, node := range l.homes() {
			if node != "n1" {
				t.Errorf("overtaken: %v: in the end task %s is on %q", overtaken, task, node)
			}
		}
	}
}

// TestTheOldestArePlacedFirst: of 200 deployments with room for half of their pods those have some which have in a
// world where the scheduler alone places, and all have theirs once there is room.
func TestTheOldestArePlacedFirst(t *testing.T) {
	const deployments, pods = 200, 3
	half, all := map[bool]map[string]int{}, map[bool]map[string]int{}
	for _, alone := range []bool{false, true} {
		l := newCrowd(t)
		spec := replicas(pods, "web:1")
		spec.Resources = &api.Resources{Reservations: &api.ResourceReservations{Memory: "10Mi"}} // a node has room for 10
		nodes := deployments * pods / 10
		for i := range nodes / 2 {
			l.reports(fmt.Sprint("n", i+1), "hollow", true)
		}
		l.refs = nil
		for i := range deployments {
			ref := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: fmt.Sprintf("w%03d", i)}
			l.refs = append(l.refs, ref)
			l.stores(ref, spec)
		}
		if alone {
			l.overtakes()
		}
		l.rounds(5, l.refs...)
		half[alone] = l.placed()
		for i := range nodes {
			l.reports(fmt.Sprint("n", i+1), "hollow", true)
		}
		l.rounds(5, l.refs...)
		all[alone] = l.placed()
	}
	if diff := cmp.Diff(half[true], half[false]); diff != "" {
		t.Errorf("the scheduler alone (-) places others than steps and scheduler (+):\n%s", diff)
	}
	if some := half[false]; some["w000"] != pods || some["w199"] != 0 {
		t.Errorf("the oldest has %d pods, the newest %d", some["w000"], some["w199"])
	}
	for i := range deployments {
		if name := fmt.Sprintf("w%03d", i); all[false][name] != pods {
			t.Errorf("%s has %d pods on nodes, now that there is room", name, all[false][name])
		}
	}
}

// placed counts the live tasks that have a node, by workload, and fails if a node has more than it has room for.
func (l *crowd) placed() map[string]int {
	l.Helper()
	out, on := map[string]int{}, map[string]int{}
	for _, task := range l.snapshot().Tasks() {
		if node := task.Value.Node; node != "" && task.Value.Desired == api.DesiredRunning {
			out[task.Value.Name]++
			on[node]++
		}
	}
	for node, n := range on {
		if n > 10 {
			l.Errorf("node %s has %d pods, and room for 10", node, n)
		}
	}
	return out
}
