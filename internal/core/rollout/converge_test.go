package rollout

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// When faults end, any history ends with exactly the wanted slots of the target, the last dead ones, and nothing to do.
func TestConverges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		rt.Repeat(h.events())
		h.heal()
		live, made := len(h.slots), h.made
		if !h.run(h.now.Add(24 * time.Hour)) {
			rt.Fatalf("not quiet after a day: %+v\n%+v", h.plan(), h.list())
		}
		l := look{before: h.list(), desired: h.desired, now: h.now, after: h.world}
		checkEnd(rt, h.desired, h.list(), wantedPlaces(l))
		if most := 2*(live+6) + 4; h.made-made > most {
			rt.Fatalf("%d slots were made on the way, at most %d expected", h.made-made, most)
		}
		if plan := h.plan(); len(plan.Actions) > 0 || plan.After != 0 || plan.Phase != api.RolloutComplete {
			rt.Fatalf("not at rest: %+v", plan)
		}
	})
}

// A deletion ends, whatever was going on.
func TestDeletionEnds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		rt.Repeat(h.events())
		clear(h.stuck)
		clear(h.cut)
		h.desired.Deleting = true
		made := h.made
		if !h.run(h.now.Add(24*time.Hour)) || len(h.slots) > 0 || h.made > made {
			rt.Fatalf("left after a day: %+v", h.list())
		}
	})
}

// A forecast ends in the same state as the world does when all goes well.
func TestForecastEnds(t *testing.T) {
	always(t, func(t *rapid.T, l look) {
		actions, end := forecast(l.desired, l.before, l.now)
		if most := 10*(len(l.before)+l.desired.Replicas) + 20; len(actions) > most {
			t.Fatalf("%d actions for %d slots", len(actions), len(l.before))
		}
		rolledBack := len(actions) > 0 && actions[len(actions)-1].Verb == RollBack
		if !rolledBack && !crashLoops(l) && !awaitsNode(l) {
			checkEnd(t, l.desired, end, wantedPlaces(l))
		}
	})
}

// awaitsNode reports whether a slot waits for its node, which a forecast takes as it is.
func awaitsNode(l look) bool {
	return slices.ContainsFunc(l.before, func(s Slot) bool { return s.Lost && !s.Elsewhere })
}

func checkEnd(t *rapid.T, d Desired, slots []Slot, wanted int) {
	live, dead := 0, 0
	for _, s := range slots {
		switch {
		case s.live() && s.Misplaced != "" && s.Elsewhere:
			t.Fatalf("slot %s is still there, although %s: %+v", s.ID, s.Misplaced, s)
		case s.live() && (!s.serves() || s.Version != d.Target):
			t.Fatalf("slot %s is not as wanted: %+v", s.ID, s)
		case s.live():
			live++
		case !d.Frozen[s.ID] && !s.Lost && !s.Away:
			dead++
		}
	}
	if live != wanted || dead > d.KeepDead {
		t.Fatalf("%d live slots of %d wanted, %d dead of %d to keep: %+v", live, wanted, dead, d.KeepDead, slots)
	}
}
