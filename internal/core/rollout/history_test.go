package rollout

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// look is one decision of a random history: the planner's input, its plan, and the world after the plan was carried
// out.
type look struct {
	before  []Slot
	desired Desired
	now     time.Time
	plan    Plan
	after   *world
}

func (l look) slot(id string) *Slot {
	for i := range l.before {
		if l.before[i].ID == id {
			return &l.before[i]
		}
	}
	return nil
}

// always runs random histories and checks a law at every decision.
func always(t *testing.T, law func(*rapid.T, look)) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		h.law = law
		rt.Repeat(h.events())
	})
}

// history is a world that random events happen to.
type history struct {
	*world
	law      func(*rapid.T, look)
	releases int
	highest  int // replicas ever wanted
}

func newHistory(t *rapid.T) *history {
	w := randomWorld(t)
	return &history{world: w, highest: w.desired.Replicas, law: func(*rapid.T, look) {}}
}

func randomWorld(t *rapid.T) *world {
	w := newWorld()
	w.desired.Replicas = rapid.IntRange(0, 5).Draw(t, "replicas")
	w.desired.Target.Release = "v1"
	w.desired.KeepDead = rapid.IntRange(0, 3).Draw(t, "keep dead")
	w.probed = rapid.Bool().Draw(t, "probed")
	w.desired.Strategy = randomStrategy(t)
	w.nodes = []string{"n1", "n2", "n3"}[:rapid.IntRange(1, 3).Draw(t, "nodes")]
	w.byClock = rapid.Bool().Draw(t, "by the clock")
	w.pinned = rapid.Bool().Draw(t, "pinned")
	return w
}

func randomStrategy(t *rapid.T) api.ResolvedStrategy {
	return api.ResolvedStrategy{
		Order:       rapid.SampledFrom([]string{api.OrderStartFirst, api.OrderStopFirst}).Draw(t, "order"),
		MaxParallel: rapid.IntRange(1, 3).Draw(t, "max parallel"),
		Pause:       rapid.SampledFrom([]time.Duration{0, 2 * time.Second}).Draw(t, "pause"),
		WaitReady:   rapid.Bool().Draw(t, "wait ready"),
		Monitor:     rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second}).Draw(t, "monitor"),
		Deadline:    rapid.SampledFrom([]time.Duration{5 * time.Second, time.Minute}).Draw(t, "deadline"),
		OnFailure: rapid.SampledFrom([]string{api.OnFailurePause, api.OnFailureRollback, api.OnFailureContinue}).
			Draw(t, "on failure"),
	}
}

// events are the possible events. Deciding and working are listed more than once, so that histories make progress.
func (h *history) events() map[string]func(*rapid.T) {
	out := map[string]func(*rapid.T){
		"scale":      h.scale,
		"restart":    func(*rapid.T) { h.desired.Target.Restart += "'" },
		"release":    h.release,
		"older":      h.older,
		"fate":       h.newFate,
		"freeze":     func(t *rapid.T) { h.desired.Frozen[h.pick(t)] = true },
		"thaw":       func(t *rapid.T) { delete(h.desired.Frozen, h.pick(t)) },
		"fail":       func(t *rapid.T) { h.befall(t, func(s *Slot) { h.end(s, api.TaskFailed, "failed") }) },
		"crash loop": func(t *rapid.T) { h.befall(t, h.crashLoop) },
		"unready":    func(t *rapid.T) { h.befall(t, h.world.unready) },
		"slow agent": func(t *rapid.T) { h.stuck[h.pick(t)] = true },
		"well agent": func(t *rapid.T) { delete(h.stuck, h.pick(t)) },
		"room": func(t *rapid.T) {
			h.full, h.noNode = rapid.Bool().Draw(t, "full"), rapid.IntRange(0, 3).Draw(t, "no node") == 0
		},
		"cut": func(t *rapid.T) {
			h.cut[rapid.SampledFrom(h.nodes).Draw(t, "node")] = true
			h.held = rapid.IntRange(0, 3).Draw(t, "held") == 0
		},
		"confirm": h.confirm,
		"mend":    func(t *rapid.T) { h.cut[rapid.SampledFrom(h.nodes).Draw(t, "node")] = false },
		"drain": func(t *rapid.T) {
			h.drained[rapid.SampledFrom(h.nodes).Draw(t, "node")] = rapid.Bool().Draw(t, "drained")
		},
		"strategy": func(t *rapid.T) { h.desired.Strategy = randomStrategy(t) },
		"a long time": func(t *rapid.T) {
			h.work(h.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute))
		},
		"crash": h.decidePart,
	}
	for i := range 6 {
		out[fmt.Sprintf("decide %d", i)] = h.decide
		out[fmt.Sprintf("work %d", i)] = h.someTime
	}
	return out
}

func (h *history) decide(t *rapid.T) {
	l := look{before: h.list(), desired: h.desired, now: h.now, plan: h.plan(), after: h.world}
	l.desired.Frozen = maps.Clone(h.desired.Frozen)
	h.performAll(l.plan)
	h.law(t, l)
}

// decidePart performs a part of a plan, as if the controller were killed in the middle of writing it.
func (h *history) decidePart(t *rapid.T) {
	actions := h.plan().Actions
	for _, a := range actions[:rapid.IntRange(0, len(actions)).Draw(t, "performed")] {
		h.perform(a)
	}
}

func (h *history) someTime(t *rapid.T) {
	h.work(h.now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond))
}

func (h *history) scale(t *rapid.T) {
	h.desired.Replicas = rapid.IntRange(0, 6).Draw(t, "replicas")
	h.highest = max(h.highest, h.desired.Replicas)
}

func (h *history) release(t *rapid.T) {
	h.releases++
	h.desired.Target.Release = fmt.Sprintf("v%d", h.releases+1)
	h.newFate(t)
}

// older turns to an earlier release, as an automatic rollback does.
func (h *history) older(t *rapid.T) {
	h.desired.Target.Release = fmt.Sprintf("v%d", rapid.IntRange(1, h.releases+1).Draw(t, "release"))
}

func (h *history) newFate(t *rapid.T) {
	h.fates[h.desired.Target.Release] = rapid.SampledFrom([]fate{fateWell, fateWell, fateFails, fateCrashes, fateDies,
		fateNeverReady}).Draw(t, "fate")
}

// pick returns the name of a slot, or of none.
func (h *history) pick(t *rapid.T) string {
	ids := append(slices.Sorted(maps.Keys(h.slots)), "nobody")
	return rapid.SampledFrom(ids).Draw(t, "slot")
}

func (h *history) befall(t *rapid.T, what func(*Slot)) {
	if s := h.slots[h.pick(t)]; s != nil && s.State == api.TaskRunning {
		what(s)
	}
}

// heal ends all faults: everything from now on succeeds.
func (h *history) heal() {
	clear(h.fates)
	clear(h.stuck)
	clear(h.cut)
	delete(h.drained, "n1")
	h.full, h.noNode, h.held = false, false, false
	for _, s := range h.slots {
		if s.State == api.TaskRunning && s.live() {
			s.CrashLoop, s.Ready = false, true
			if s.ReadyAt.IsZero() {
				s.ReadyAt = h.now
			}
		}
	}
}
