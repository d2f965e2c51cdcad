package placement

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestForeseeIsThePlanAfterwards: a ledger of the tasks as they will be plans the same, and asking changes no answer.
func TestForeseeIsThePlanAfterwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, next, nodes := randomTasks(t), randomTasks(t), randomNodes(t)
		var gone []string
		then := slices.Clone(now)
		for _, task := range next {
			then = slices.DeleteFunc(then, func(old Task) bool { return old.ID == task.ID })
		}
		if then = append(then, next...); len(now) > 0 && rapid.Bool().Draw(t, "one goes") {
			id := rapid.SampledFrom(now).Draw(t, "goes").ID
			if !slices.ContainsFunc(next, func(task Task) bool { return task.ID == id }) {
				gone = []string{id}
				then = slices.DeleteFunc(then, func(old Task) bool { return old.ID == id })
			}
		}
		l := survey(now, nodes, map[string]string{"v0": "n1"})
		before, refused := l.Plan()
		want, _ := survey(then, nodes, map[string]string{"v0": "n1"}).Plan()
		if diff := cmp.Diff(want, l.Foresee(next, gone)); diff != "" {
			t.Fatalf("foreseen (+) is not what is planned afterwards (-):\n%s", diff)
		}
		again, refusedAgain := l.Plan()
		if diff := cmp.Diff(before, again) + cmp.Diff(refused, refusedAgain); diff != "" {
			t.Fatalf("asking changed the ledger:\n%s", diff)
		}
	})
}
