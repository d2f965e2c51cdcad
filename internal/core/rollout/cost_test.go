package rollout

import (
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// cell is one case of what a bad version may do to a workload that was good.
type cell struct {
	replicas, parallel int
	ordered, probed    bool
	order, onFailure   string
	fate               fate
	lives              time.Duration
}

// step is the most that a bad version may cost at a time: nothing where the old slot stays beside the new one.
func (c cell) step() int {
	if c.order == api.OrderStartFirst {
		return 0
	}
	return min(c.parallel, c.replicas)
}

// cost runs a good version, then a bad one for five minutes, and returns the most old slots that were gone at once, and
// for how long some slot was missing from those that serve.
func (c cell) cost(
	fail func(format string, args ...any), strategy api.ResolvedStrategy,
) (lost int, down time.Duration) {
	w := newWorld()
	w.desired.Replicas, w.desired.Ordered, w.probed = c.replicas, c.ordered, c.probed
	w.desired.Strategy = strategy
	w.desired.Strategy.Order, w.desired.Strategy.MaxParallel, w.desired.Strategy.OnFailure = c.order,
		c.parallel, c.onFailure
	w.desired.Target.Release = "v1"
	if !w.run(epoch.Add(time.Hour)) {
		fail("v1 isn't at rest: %+v", w.plan())
		return 0, 0
	}
	w.fates["v2"], w.lives, w.desired.Target.Release = c.fate, c.lives, "v2"
	const step = 500 * time.Millisecond // less than a container takes to start or to stop
	for end := w.now.Add(5 * time.Minute); w.now.Before(end); {
		until := w.now.Add(step)
		w.run(until)
		w.now = until // also if nothing is left to do
		old, serving := 0, 0
		for _, s := range w.slots {
			if s.live() && s.serves() {
				serving++
				if s.Version.Release == "v1" {
					old++
				}
			}
		}
		lost = max(lost, c.replicas-old)
		if serving < c.replicas {
			down += step
		}
	}
	if plan := w.plan(); plan.Phase == api.RolloutComplete && w.desired.Target.Release == "v2" {
		fail("a version that %s counts as rolled out: %+v", c.fate, plan)
	}
	w.run(w.now.Add(strategy.Deadline + time.Minute))
	plan := w.plan()
	if plan.Phase != api.RolloutPaused && (c.onFailure != api.OnFailureRollback || w.desired.Target.Release != "v1") {
		fail("a version that %s is never given up: %+v", c.fate, plan)
	}
	return lost, down
}

// TestABadVersionCostsAStep: whatever the strategy, and however the version fails, no more slots are lost than are
// replaced at once; start-first loses none.
func TestABadVersionCostsAStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strategy := randomStrategy(t)
		strategy.Monitor = time.Duration(rapid.IntRange(2, 20).Draw(t, "monitor, s")) * time.Second
		c := cell{
			replicas: rapid.IntRange(1, 5).Draw(t, "replicas"), parallel: strategy.MaxParallel, order: strategy.Order,
			ordered: rapid.Bool().Draw(t, "ordered"), probed: rapid.Bool().Draw(t, "probed"),
			onFailure: rapid.SampledFrom([]string{api.OnFailurePause, api.OnFailureRollback}).Draw(t, "after a failure"),
			fate:      rapid.SampledFrom([]fate{fateFails, fateDies, fateNeverReady, fateReadyOnce}).Draw(t, "fate"),
		}
		c.lives = time.Duration(rapid.IntRange(1, int(strategy.Monitor/time.Millisecond)-1).Draw(t,
			"lives, ms")) * time.Millisecond
		if c.ordered {
			c.order, c.parallel = api.OrderStopFirst, 1
		}
		if c.fate == fateNeverReady || c.fate == fateReadyOnce {
			c.probed, strategy.WaitReady = true, true // else it is good
			strategy.Monitor = max(strategy.Monitor, readyTakes+2*readyFor)
		}
		if lost, _ := c.cost(t.Fatalf, strategy); lost > c.step() {
			t.Fatalf("%d slots of the good version were lost, a step is %d", lost, c.step())
		}
	})
}

// fates are the ways to fail of the table in the documents, with how the test's world has them.
var fates = map[string]struct {
	fate     fate
	unprobed bool // it is possible without a probe
}{
	"exits at once":                               {fateFails, true},
	"dies within `monitor`":                       {fateDies, true},
	"is never ready":                              {fateNeverReady, false},
	"is ready, then dies within `monitor`":        {fateDies, false},
	"is ready, and within `monitor` not any more": {fateReadyOnce, false},
}

// TestCostTable holds the table in docs/use/kinds/deployment.md against what the planner does, for some numbers of
// pods.
func TestCostTable(t *testing.T) {
	page, err := os.ReadFile("../../../docs/use/kinds/deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		columns := strings.Split(strings.TrimSpace(line), "|")
		if len(columns) != 7 {
			continue
		}
		for i := range columns {
			columns[i] = strings.TrimSpace(columns[i])
		}
		order, fails, lost, down := columns[1], columns[2], columns[4], columns[5]
		kind, known := fates[fails]
		if !known {
			continue
		}
		rows++
		for _, parallel := range []int{1, 2} {
			for _, replicas := range []int{1, 3, 5} {
				for _, probed := range []bool{true, false} {
					if !probed && !kind.unprobed {
						continue
					}
					c := cell{replicas: replicas, parallel: parallel, probed: probed, order: order, onFailure: api.OnFailurePause,
						fate: kind.fate, lives: 4 * time.Second}
					if order == api.OrderStopFirst {
						c.onFailure = api.OnFailureRollback
					}
					c.holds(t, lost, down)
				}
			}
		}
	}
	if rows != 2*len(fates) {
		t.Errorf("the table has %d rows, want %d", rows, 2*len(fates))
	}
}

// holds checks a cell against what the table says of it.
func (c cell) holds(t *testing.T, lost, down string) {
	t.Helper()
	gone, less := c.cost(t.Fatalf, defaultStrategy())
	want := map[string]int{"0": 0, "`max_parallel`": min(c.parallel, c.replicas)}
	if most, known := want[lost]; !known || gone != most {
		t.Errorf("%+v: %d lost, the table says %s", c, gone, lost)
	}
	if (down == "0 s") != (less == 0) {
		t.Errorf("%+v: a pod is missing for %s, the table says %s", c, less, down)
	}
}
