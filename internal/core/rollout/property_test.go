package rollout

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

func TestNeverMorePlacesThanWanted(t *testing.T) {
	always(t, func(t *rapid.T, l look) {
		if places, wanted := countPlaces(l.after.list()),
			wantedPlaces(l); l.plan.Phase != api.RolloutRollingBack && places > wanted {
			t.Fatalf("%d places are filled, %d wanted", places, wanted)
		}
	})
}

func TestNeverASecondSuccessor(t *testing.T) {
	always(t, func(t *rapid.T, l look) {
		successors := map[string]string{}
		for _, s := range l.after.list() {
			if old := l.after.slots[s.Replaces]; s.live() && old != nil && old.live() {
				if other, taken := successors[old.ID]; taken {
					t.Fatalf("slots %s and %s both succeed %s", other, s.ID, old.ID)
				}
				successors[old.ID] = s.ID
			}
		}
	})
}

// One plan acts on a task once, only raises desired states, and never forgets a container that may exist.
func TestDesiredStatesOnlyRise(t *testing.T) {
	always(t, desiredStatesRise)
}

func desiredStatesRise(t *rapid.T, l look) {
	order := map[api.DesiredState]int{"": 0, api.DesiredRunning: 0, api.DesiredShutdown: 1, api.DesiredRemoved: 2}
	raises := map[Verb]int{Shutdown: 1, Remove: 2, Forget: 3}
	acted := map[string]bool{}
	for _, a := range l.plan.Actions {
		if a.Verb == Create || a.Verb == RollBack {
			continue
		}
		s := l.slot(a.Slot)
		switch {
		case s == nil || s.Task != a.Task || acted[a.Task]:
			t.Fatalf("%v: of an unknown task, or the second one", a)
		case raises[a.Verb] <= order[s.Desired]:
			t.Fatalf("%v: it is already wanted %s", a, s.Desired)
		case a.Verb == Remove && !s.stopped(), a.Verb == Forget && !s.stopped(), a.Verb == Forget && s.Placed && s.Observed:
			t.Fatalf("%v: its container is still there: %+v", a, *s)
		}
		acted[a.Task] = true
	}
}

// Start-first: stops by the planner never make fewer places serve than did before and were wanted. The strategy's
// exceptions are missing room beside the old slot, and readiness that is not waited for.
func TestStartFirstKeepsServing(t *testing.T) {
	always(t, func(t *rapid.T, l look) {
		d := l.desired
		if d.Strategy.Order != api.OrderStartFirst || !d.Strategy.WaitReady {
			return
		}
		p := observe(d, l.before, l.now)
		before, after := 0, 0
		for _, place := range p.places() {
			next := p.successor[place.ID]
			beside := next != nil && next.serves()
			crowded := next != nil && next.Crowded
			if place.serves() || beside {
				before++
			}
			if place.serves() && (crowded || !stops(l.plan, place.ID)) || beside && !stops(l.plan, next.ID) {
				after++
			}
		}
		if after < min(wantedPlaces(l), before) {
			t.Fatalf("%d of %d served and were wanted, %d are left: %v", before, wantedPlaces(l), after, l.plan.Actions)
		}
	})
}

// Stop-first: after a plan that takes a serving slot down to replace it, no more than max_parallel such places are
// down.
func TestStopFirstTakesFewDown(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		down := map[string]bool{} // slots that fill the place of one that served, and have not settled since
		h := newHistory(rt)
		h.law = func(t *rapid.T, l look) {
			p := observe(l.desired, l.before, l.now)
			for _, s := range l.before {
				if p.settled(&s) {
					delete(down, s.ID)
				}
			}
			took := false
			for _, s := range l.after.list() {
				old := l.slot(s.Replaces)
				if l.slot(s.ID) != nil || old == nil || s.After == "" {
					continue
				}
				down[s.ID] = old.serves() || down[old.ID]
				took = took || old.serves()
			}
			if n := countDown(l, down); took && l.desired.Strategy.OnFailure != api.OnFailureContinue &&
				n > l.desired.Strategy.MaxParallel {
				t.Fatalf("%d places are down for their replacement", n)
			}
		}
		rt.Repeat(h.events())
	})
}

func countDown(l look, down map[string]bool) int {
	n := 0
	for _, s := range l.after.list() {
		if down[s.ID] && s.live() {
			n++
		}
	}
	return n
}

// If everything is stop-first, a container starts only when every earlier one of its place has stopped, and there are
// never more running containers than were ever wanted. A container on a lost node counts for neither.
func TestStopFirstNeverOverlaps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		h.desired.Strategy.Order = api.OrderStopFirst
		replaces := map[string]string{}
		h.law = func(t *rapid.T, l look) {
			running := 0
			for _, s := range l.after.list() {
				replaces[s.ID] = s.Replaces
				if s.stopped() || s.RunningAt.IsZero() || l.after.strayed[s.ID] {
					continue
				}
				running++
				for id := s.Replaces; id != ""; id = replaces[id] {
					if old := l.after.slots[id]; old != nil && !old.stopped() && !old.RunningAt.IsZero() && !l.after.strayed[id] {
						t.Fatalf("slot %s runs beside %s, whose place it took", s.ID, id)
					}
				}
			}
			if running > h.highest {
				t.Fatalf("%d containers run, %d replicas were ever wanted", running, h.highest)
			}
		}
		events := h.events()
		delete(events, "strategy")
		rt.Repeat(events)
	})
}

// While a slot of the target crashes over and over, no serving slot is taken down or doubled for it, except if its own
// last attempt failed, or was lost with its node: that one is stopped, and one is made again in its place.
func TestFailureHoldsTheRollout(t *testing.T) {
	always(t, func(t *rapid.T, l look) {
		if l.desired.Strategy.OnFailure == api.OnFailureContinue || !crashLoops(l) {
			return
		}
		p := observe(l.desired, l.before, l.now)
		for _, a := range l.plan.Actions {
			if old := l.slot(a.Replaces); a.Verb == Create && old != nil && old.live() && !old.broken() &&
				p.retry[old.ID] == nil && !l.remakes(old.ID) {
				t.Fatalf("%v, although the target crashes", a)
			}
		}
	})
}

// remakes reports whether the plan stops the slot that was to replace another one, because its node is lost. It did not
// crash before, and only one slot is made for it.
func (l look) remakes(old string) bool {
	made, stops := 0, false
	for _, a := range l.plan.Actions {
		if a.Verb == Create && a.Replaces == old {
			made++
		}
		if s := l.slot(a.Slot); a.Verb == Shutdown && s != nil && s.Replaces == old && s.Lost && !s.CrashLoop {
			stops = true
		}
	}
	return stops && made == 1
}

func crashLoops(l look) bool {
	p := observe(l.desired, l.before, l.now)
	return slices.ContainsFunc(p.live, func(s *Slot) bool { return s.CrashLoop && p.current(s) && !p.iced[s.ID] })
}

func TestTimeChangesAPlanOnlyWhenItSaid(t *testing.T) { always(t, timeKeepsItsWord) }

// The clock may have been set back since anything that is observed happened.
func TestTimeChangesAPlanOnlyWhenItSaidAfterAJumpBack(t *testing.T) {
	always(t, func(t *rapid.T, l look) {
		l.now = l.now.Add(-time.Duration(rapid.IntRange(0, 7_200_000).Draw(t, "ms back")) * time.Millisecond)
		l.plan = Decide(l.desired, l.before, l.now)
		timeKeepsItsWord(t, l)
	})
}

func timeKeepsItsWord(t *rapid.T, l look) {
	var moments []time.Duration
	switch {
	case l.plan.After < 0:
		t.Fatalf("it is due again %s ago", -l.plan.After)
	case l.plan.After == 0:
		moments = []time.Duration{time.Nanosecond, time.Minute, 3 * time.Hour, 10_000 * time.Hour}
	default:
		moments = []time.Duration{1, l.plan.After / 2, l.plan.After - 1}
	}
	for _, d := range moments {
		if d < l.plan.After || l.plan.After == 0 {
			later := Decide(l.desired, l.before, l.now.Add(d))
			later.After = l.plan.After
			if diff := cmp.Diff(l.plan, later); diff != "" {
				t.Fatalf("looking again after %s was promised, but after %s:\n%s", l.plan.After, d, diff)
			}
		}
	}
}

func TestOrderChangesNothing(t *testing.T) { always(t, orderIsNothing) }

func orderIsNothing(t *rapid.T, l look) {
	shuffled := slices.Clone(l.before)
	rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)).Shuffle(len(shuffled), func(i, j int) {
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	})
	if diff := cmp.Diff(l.plan, Decide(l.desired, shuffled, l.now)); diff != "" {
		t.Fatal(diff)
	}
}

func TestTheSameWorldGetsTheSamePlan(t *testing.T) { always(t, planIsAFunction) }

func planIsAFunction(t *rapid.T, l look) {
	given := slices.Clone(l.before)
	again := Decide(l.desired, l.before, l.now)
	if diff := cmp.Diff(l.plan, again) + cmp.Diff(given, l.before); diff != "" {
		t.Fatal(diff)
	}
}

// wantedPlaces recounts what the planner should have counted: a frozen place is one, whichever half is marked, and
// surplus before a filled one.
func wantedPlaces(l look) int {
	frozen := 0
	for _, s := range l.before {
		if l.desired.Frozen[s.ID] && !(l.slot(s.Replaces) != nil && l.desired.Frozen[s.Replaces]) {
			frozen++
		}
	}
	filled := len(observe(l.desired, l.before, l.now).places())
	return max(l.desired.Replicas-frozen, min(l.desired.Replicas, filled))
}

// countPlaces counts live slots, a pair once.
func countPlaces(slots []Slot) int {
	live := map[string]bool{}
	for _, s := range slots {
		live[s.ID] = s.live()
	}
	places := 0
	for _, s := range slots {
		if s.live() && !live[s.Replaces] {
			places++
		}
	}
	return places
}

func stops(plan Plan, id string) bool {
	return slices.ContainsFunc(plan.Actions, func(a Action) bool { return a.Verb == Shutdown && a.Slot == id })
}
