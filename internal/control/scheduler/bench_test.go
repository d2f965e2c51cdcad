package scheduler

import (
	"fmt"
	"testing"

	"tend.dev/tend/api"
)

// BenchmarkPlan measures the first decision over n running tasks and one that waits.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{10, 1_000, 5_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := newHarness(b)
			l.node("n1", true)
			l.release("v1", api.DeploymentSpec{})
			l.tasks(n, "v1", func(task *api.Task) {
				if task.ID != "t0000" {
					task.Node = "n1"
				}
			})
			for b.Loop() {
				l.s.board = board{demands: l.s.demands}
				if _, d := l.s.board.plan(l.snapshot()); len(d.assigned) != 1 {
					b.Fatalf("%d assignments", len(d.assigned))
				}
			}
		})
	}
}
