package histories

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// clients is the number of clients that ask at the same time in a history.
const clients = 4

// judgeTime bounds the search for an order.
const judgeTime = time.Minute

// A bound that keeps histories decidable. An unanswered write may take effect at any later time, or never, so each one
// doubles the orders to search. Once a key has maxOpen of them, clients only read it; calls then in progress may add
// one for each client.
const maxOpen = 5

// undecidedOneIn is the share of histories that may stay undecided: one in undecidedOneIn, and one in a shorter run.
const undecidedOneIn = 20

// verdict returns the calls for which no order exists: those of each key without one, or all of a history if each key
// by itself has one. decided is false if the search gave up.
func verdict(
	ops []porcupine.Operation, check func([]porcupine.Operation) porcupine.CheckResult,
) (wrong [][]porcupine.Operation, decided bool) {
	switch check(ops) {
	case porcupine.Ok:
		return nil, true
	case porcupine.Unknown:
		return nil, false
	case porcupine.Illegal:
	}
	for _, part := range byKey(ops) {
		if check(part) == porcupine.Illegal {
			wrong = append(wrong, part)
		}
	}
	if len(wrong) == 0 {
		wrong = append(wrong, ops)
	}
	return wrong, true
}

// search looks for an order, no longer than judgeTime.
func search(ops []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model.ToModel(), ops, judgeTime)
}

// indecision returns an error text if too many histories stay undecided, else "".
func indecision(judged, undecided int64) string {
	if undecided == 0 || undecided < judged && undecided <= max(1, judged/undecidedOneIn) {
		return ""
	}
	return fmt.Sprintf("%d of %d histories were not decided within %v each: at most one in %d may be", undecided, judged,
		judgeTime, undecidedOneIn)
}

// TestWhatIsIllegalIsReported: also where only the whole history is.
func TestWhatIsIllegalIsReported(t *testing.T) {
	on := func(key string) porcupine.Operation { return porcupine.Operation{Input: asked{key: key, verb: read}} }
	ops := []porcupine.Operation{on("x"), on("y"), on("x")}
	for name, test := range map[string]struct {
		whole, x, y porcupine.CheckResult
		wrong       []int // how many calls are reported, by report
		decided     bool
	}{
		"all fits":             {porcupine.Ok, porcupine.Ok, porcupine.Ok, nil, true},
		"no order fits a key":  {porcupine.Illegal, porcupine.Illegal, porcupine.Ok, []int{2}, true},
		"none fits both":       {porcupine.Illegal, porcupine.Illegal, porcupine.Illegal, []int{2, 1}, true},
		"each key has one":     {porcupine.Illegal, porcupine.Ok, porcupine.Ok, []int{3}, true},
		"keys are not decided": {porcupine.Illegal, porcupine.Unknown, porcupine.Unknown, []int{3}, true},
		"nothing is decided":   {porcupine.Unknown, porcupine.Unknown, porcupine.Unknown, nil, false},
	} {
		wrong, decided := verdict(ops, func(of []porcupine.Operation) porcupine.CheckResult {
			return map[int]porcupine.CheckResult{3: test.whole, 2: test.x, 1: test.y}[len(of)]
		})
		var got []int
		for _, part := range wrong {
			got = append(got, len(part))
		}
		if fmt.Sprint(got) != fmt.Sprint(test.wrong) || decided != test.decided {
			t.Errorf("%s: %v calls are reported, decided %t, want %v and %t", name, got, decided, test.wrong, test.decided)
		}
	}
}

// TestTooManyUndecided: a share may be, but never all.
func TestTooManyUndecided(t *testing.T) {
	for _, test := range []struct {
		judged, undecided int64
		want              bool
	}{{0, 0, false}, {40, 0, false}, {1, 1, true}, {2, 1, false}, {2, 2, true}, {40, 2, false}, {40, 3, true},
		{1000, 50, false}, {1000, 51, true}} {
		if got := indecision(test.judged, test.undecided); got != "" != test.want {
			t.Errorf("%d of %d undecided: %q", test.undecided, test.judged, got)
		}
	}
}

// TestABoundedHistoryIsDecided: the search ends for the most writes without an answer that a key can have, before as
// many reads as a history makes, of which the last fits no order.
func TestABoundedHistoryIsDecided(t *testing.T) {
	for name, lost := range map[string]func(i int) asked{
		"a config key": func(i int) asked { return asked{key: "x", verb: set, value: fmt.Sprint(i % 4)} },
		"an object":    func(i int) asked { return asked{key: "x", verb: apply, value: fmt.Sprint(i % 4), replicas: i % 3} },
	} {
		first := lost(0)
		ops := []porcupine.Operation{op(1, 2, first, answered{answer: done, created: true, changed: true})}
		for i := range int64(maxOpen + clients - 1) {
			ops = append(ops, op(3+i, math.MaxInt64, lost(int(i)), answered{answer: unknown}))
		}
		seen := state{there: true, value: first.value, replicas: first.replicas}
		for i := range int64(60) {
			ops = append(ops, op(100+2*i, 101+2*i, asked{key: "x", verb: read}, answered{answer: done, seen: seen}))
		}
		if !porcupine.CheckOperations(model.ToModel(), ops) {
			t.Errorf("%s: a history that is right is not", name)
		}
		seen.value = "never written"
		ops = append(ops, op(1000, 1001, asked{key: "x", verb: read}, answered{answer: done, seen: seen}))
		if porcupine.CheckOperations(model.ToModel(), ops) {
			t.Errorf("%s: a history that is wrong is not", name)
		}
	}
}
