package scheduler

import (
	"fmt"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/board"
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
				if !board.New().Waiting(l.snapshot()) {
					b.Fatal("nothing waits")
				}
			}
		})
	}
}
