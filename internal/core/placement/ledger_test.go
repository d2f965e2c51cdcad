package placement

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A ledger that followed every change, and was asked in between, answers as one that is made from the state.
func TestLedgerFollowsChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept, tasks, nodes := NewLedger(), map[string]Task{}, map[string]Node{}
		homes := map[string]string{}
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			switch rapid.IntRange(0, 6).Draw(t, "change") {
			case 0:
				for _, n := range randomNodes(t) {
					nodes[n.ID] = n
					kept.PutNode(n)
				}
			case 1:
				id := fmt.Sprintf("n%d", rapid.IntRange(0, 4).Draw(t, "node that goes"))
				delete(nodes, id)
				kept.RemoveNode(id)
			case 2, 3:
				for _, next := range randomTasks(t) {
					tasks[next.ID] = next
					kept.PutTask(next)
				}
			case 4:
				id := fmt.Sprintf("t%d", rapid.IntRange(0, 11).Draw(t, "task that goes"))
				delete(tasks, id)
				kept.RemoveTask(id)
			case 5:
				homes = map[string]string{"v0": rapid.SampledFrom([]string{"n0", "n1", "n9"}).Draw(t, "home")}
				kept.SetHomes(homes)
			case 6:
				kept.Refuse(randomTasks(t))
			}
			made := NewLedger()
			for _, n := range nodes {
				made.PutNode(n)
			}
			for _, task := range tasks {
				made.PutTask(task)
			}
			made.SetHomes(homes)
			if diff := cmp.Diff(made.Nodes(), kept.Nodes()) + cmp.Diff(made.Homes(), kept.Homes()); diff != "" {
				t.Fatal(diff)
			}
			placed, refused := made.Plan()
			again, refusedAgain := kept.Plan()
			if diff := cmp.Diff(placed, again) + cmp.Diff(refused, refusedAgain); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// planOf returns what a ledger of these tasks and nodes plans.
func planOf(tasks []Task, nodes []Node, homes map[string]string) ([]Assignment, []Refusal) {
	return survey(tasks, nodes, homes).Plan()
}
