package workload

import (
	"maps"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// rebalance stores the moves that level the nodes, as the verb does, and returns how many there are.
func (l *harness) rebalance() int {
	l.Helper()
	moves := l.scheduler.Board.Rebalance(l.snapshot(), func(api.Ref) bool { return true })
	to := map[string]string{}
	for _, m := range moves {
		to[m.Task] = m.To
	}
	if len(moves) > 0 {
		l.write(func(txn *records.Txn) { txn.Put(records.MovesKey(web), api.Moves{Tasks: to}) })
	}
	return len(moves)
}

// The pods that move are replaced one after another, under either order of the strategy; the others are left alone, and
// what comes in their place is on the nodes that were chosen.
func TestARebalanceLevelsTheNodes(t *testing.T) {
	for _, order := range []string{api.OrderStopFirst, api.OrderStartFirst} {
		t.Run(order, func(t *testing.T) {
			spec := replicas(6, "web:1")
			spec.Strategy.Order = order
			l := onNodes(t, spec)
			l.join("n2", "n3")
			l.settle()
			before := l.homes()
			if got := l.spread(); !maps.Equal(got, map[string]int{"n1": 6}) {
				t.Fatalf("%v before the rebalance", got)
			}
			least, most := 6, 6
			l.after = func() {
				ready := 0
				for _, task := range l.live() {
					if status := l.snapshot().TaskStatus(task.ID).Value; status != nil && status.Ready {
						ready++
					}
				}
				least, most = min(least, ready), max(most, len(l.live()))
			}
			if n := l.rebalance(); n != 4 {
				t.Fatalf("%d moves, want 4", n)
			}
			if n := l.rebalance(); n != 0 {
				t.Errorf("%d more moves while the first are under way", n)
			}
			l.settle()
			if got := l.spread(); !maps.Equal(got, map[string]int{"n1": 2, "n2": 2, "n3": 2}) {
				t.Errorf("%v after it", got)
			}
			stayed := 0
			for task := range l.homes() {
				if before[task] != "" {
					stayed++
				}
			}
			if stayed != 2 {
				t.Errorf("%d of the 2 pods that were to stay are there still", stayed)
			}
			if order == api.OrderStopFirst && (least < 5 || most > 6) || order == api.OrderStartFirst &&
				(least < 6 || most > 7) {
				t.Errorf("between %d ready and %d pods in the meantime", least, most)
			}
			if n := l.rebalance(); n != 0 {
				t.Errorf("%d moves of level nodes", n)
			}
			if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue || l.status().Release != "v1" {
				t.Errorf("%+v, release %s", c, l.status().Release)
			}
		})
	}
}

// A move to a node that takes nothing any more is not made, and nothing else is done in its place.
func TestAMoveToAClosedNodeIsNotMade(t *testing.T) {
	l := onNodes(t, replicas(4, "web:1"))
	l.join("n2")
	before := l.homes()
	l.rebalance()
	l.declare("n2", api.NodeSpec{Availability: api.NodeCordoned})
	l.settle()
	if got := l.homes(); !maps.Equal(got, before) {
		t.Errorf("%v, want %v", got, before)
	}
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
		t.Errorf("%+v", c)
	}
}
