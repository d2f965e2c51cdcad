package rollout

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// alwaysInOrder runs random histories of ordinals and checks a law at every decision.
func alwaysInOrder(t *testing.T, law func(*rapid.T, look)) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newOrderedHistory(rt)
		h.law = law
		rt.Repeat(h.orderedEvents())
	})
}

func newOrderedHistory(t *rapid.T) *history {
	h := newHistory(t)
	h.desired.Ordered = true
	h.desired.Strategy.Order, h.desired.Strategy.MaxParallel = api.OrderStopFirst, 1
	return h
}

func (h *history) orderedEvents() map[string]func(*rapid.T) {
	events := h.events()
	events["strategy"] = func(t *rapid.T) {
		h.desired.Strategy = randomStrategy(t)
		h.desired.Strategy.Order, h.desired.Strategy.MaxParallel = api.OrderStopFirst, 1
	}
	events["freeze"] = func(t *rapid.T) { h.desired.Frozen[randomOrdinal(t)] = true }
	events["thaw"] = func(t *rapid.T) { delete(h.desired.Frozen, randomOrdinal(t)) }
	events["rebootstrap"] = func(t *rapid.T) {
		if s := h.slots[h.pick(t)]; s != nil && s.Placed && s.Desired != api.DesiredRemoved {
			s.Rebootstrap = true
		}
	}
	return events
}

func randomOrdinal(t *rapid.T) string { return strconv.Itoa(rapid.IntRange(0, 6).Draw(t, "ordinal")) }

// An ordinal has at most one task: a new one is created only when nothing is left of the previous container, or its
// node is off, and it takes the place of the previous task.
func TestAnOrdinalHasOneTask(t *testing.T) {
	alwaysInOrder(t, func(t *rapid.T, l look) {
		made := map[string]bool{}
		for _, a := range l.plan.Actions {
			if a.Verb != Create {
				continue
			}
			before := l.slot(a.Slot)
			switch {
			case made[a.Slot]:
				t.Fatalf("slot %s is made twice", a.Slot)
			case before == nil && a.Task != "", before != nil && a.Task != before.Task:
				t.Fatalf("%v takes the place of task %q: %+v", a, a.Task, before)
			case before != nil && !(before.stopped() && (!before.Placed || !before.Observed || before.Away && before.Elsewhere)):
				t.Fatalf("%v, although its container may be there: %+v", a, *before)
			}
			if n, err := strconv.Atoi(a.Slot); err != nil || n < 0 || n >= l.desired.Replicas || l.desired.Frozen[a.Slot] {
				t.Fatalf("%v: it is not wanted", a)
			}
			made[a.Slot] = true
		}
	})
}

// A scale-up never creates an ordinal before every one below, except frozen ones, is up, or was up before its node
// stopped answering.
func TestScaleUpIsBottomUp(t *testing.T) {
	alwaysInOrder(t, func(t *rapid.T, l look) {
		o := observeOrdered(l.desired, l.before, l.now)
		for _, a := range l.plan.Actions {
			before := l.slot(a.Slot)
			if a.Verb != Create || before != nil && before.NextAttempt > 0 {
				continue
			}
			n, _ := strconv.Atoi(a.Slot)
			for below := range n {
				s := o.places[below]
				if s != nil && (s.Lost || s.Away) && !o.upAt(s).IsZero() {
					continue
				}
				if o.thawed(below) && (s == nil || !s.live() || !o.up(s) || stops(l.plan, s.ID)) {
					t.Fatalf("%v, although ordinal %d below is not up: %+v", a, below, s)
				}
			}
		}
	})
}

// A scale-down never stops an ordinal before the container of every one above has stopped, except those on nodes that
// don't answer.
func TestScaleDownIsTopDown(t *testing.T) {
	alwaysInOrder(t, func(t *rapid.T, l look) {
		for _, a := range l.plan.Actions {
			n, _ := strconv.Atoi(a.Slot)
			if a.Verb != Shutdown || n < l.desired.Replicas || !l.slot(a.Slot).live() {
				continue
			}
			for _, s := range l.before {
				if above, _ := strconv.Atoi(s.ID); above > n && !s.stopped() && !s.Lost {
					t.Fatalf("%v, although ordinal %d has not stopped: %+v", a, above, s)
				}
			}
		}
	})
}

// A rollout takes one serving ordinal down at a time, the highest outdated one, and none while another is on its way or
// the target fails.
func TestReplacementIsTopDown(t *testing.T) {
	alwaysInOrder(t, func(t *rapid.T, l look) {
		turned := ""
		o := observeOrdered(l.desired, l.before, l.now)
		for _, a := range l.plan.Actions {
			s := l.slot(a.Slot)
			n, _ := strconv.Atoi(a.Slot)
			if a.Verb != Shutdown || n >= l.desired.Replicas || l.desired.Frozen[a.Slot] || s.Rebootstrap ||
				!s.live() || s.broken() {
				continue
			}
			if turned != "" {
				t.Fatalf("ordinals %s and %s are taken down together", turned, a.Slot)
			}
			turned = a.Slot
			for m, other := range o.places {
				if other == nil || m == n || !o.thawed(m) {
					continue
				}
				switch {
				case m > n && other.live() && !o.current(other):
					t.Fatalf("%v, although %d above is outdated too: %+v", a, m, *other)
				case l.desired.Strategy.OnFailure == api.OnFailureContinue:
				case other.live() && o.current(other) && !proved(l, other):
					t.Fatalf("%v, although %d has not proved itself: %+v", a, m, *other)
				case other.live() && o.current(other) && !o.settled(other), !other.live() && other.NextAttempt > 0:
					t.Fatalf("%v, although %d is not up: %+v", a, m, *other)
				}
			}
		}
	})
}

// proved reports whether the agent saw it run after the monitor time, or whether that time has passed if the agent
// doesn't inspect it.
func proved(l look, s *Slot) bool {
	if s.Monitored {
		return s.Steady
	}
	return l.now.Sub(s.StartedAt) >= l.desired.Strategy.Monitor
}

// A failure of one ordinal never takes down, or keeps down, another one that was up.
func TestAnEndedOrdinalComesBackByItself(t *testing.T) {
	alwaysInOrder(t, func(t *rapid.T, l look) {
		if l.plan.Phase == api.RolloutRollingBack {
			return
		}
		o := observeOrdered(l.desired, l.before, l.now)
		for n, s := range o.places {
			if s == nil || s.live() || !o.thawed(n) || s.wanted() || s.NextAttempt == 0 || !gone(s) {
				continue
			}
			if after := l.after.slots[s.ID]; after == nil || !after.live() {
				t.Fatalf("ordinal %d could come back and did not: %+v", n, *s)
			}
		}
	})
}

// A plan that takes an ordinal down never reports that all is done.
func TestAPlanThatStopsIsNotComplete(t *testing.T) {
	alwaysInOrder(t, func(t *rapid.T, l look) {
		for _, a := range l.plan.Actions {
			if l.plan.Phase == api.RolloutComplete && (a.Verb == Create || a.Verb == Shutdown && l.slot(a.Slot).live()) {
				t.Fatalf("complete, and yet %v", a)
			}
		}
	})
}

func TestOrderedPlansAreFunctions(t *testing.T) {
	alwaysInOrder(t, func(t *rapid.T, l look) {
		planIsAFunction(t, l)
		orderIsNothing(t, l)
		timeKeepsItsWord(t, l)
		desiredStatesRise(t, l)
	})
}

// When faults end, any history ends with exactly the wanted ordinals of the target and nothing to do.
func TestOrderedConverges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newOrderedHistory(rt)
		rt.Repeat(h.orderedEvents())
		h.heal()
		made := h.made
		if !h.run(h.now.Add(24 * time.Hour)) {
			rt.Fatalf("not quiet after a day: %+v\n%+v", h.plan(), h.list())
		}
		checkOrderedEnd(rt, h.desired, h.list())
		if h.made-made > 2*(h.highest+6)+4 {
			rt.Fatalf("%d tasks were made on the way", h.made-made)
		}
		if plan := h.plan(); len(plan.Actions) > 0 || plan.After != 0 || plan.Phase != api.RolloutComplete {
			rt.Fatalf("not at rest: %+v", plan)
		}
	})
}

func TestOrderedDeletionEnds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newOrderedHistory(rt)
		rt.Repeat(h.orderedEvents())
		clear(h.stuck)
		clear(h.cut)
		h.desired.Deleting = true
		made := h.made
		if !h.run(h.now.Add(24*time.Hour)) || len(h.slots) > 0 || h.made > made {
			rt.Fatalf("left after a day: %+v", h.list())
		}
	})
}

// A forecast of ordinals ends in the same state as the world does when all goes well.
func TestOrderedForecastEnds(t *testing.T) {
	alwaysInOrder(t, func(t *rapid.T, l look) {
		actions, end := forecast(l.desired, l.before, l.now)
		if most := 10*(len(l.before)+l.desired.Replicas) + 20; len(actions) > most {
			t.Fatalf("%d actions for %d slots", len(actions), len(l.before))
		}
		for _, s := range l.before {
			if s.CrashLoop || s.Rebootstrap || s.Lost || s.Away {
				return // taken as it is
			}
		}
		if len(actions) == 0 || actions[len(actions)-1].Verb != RollBack {
			checkOrderedEnd(t, l.desired, end)
		}
	})
}

func checkOrderedEnd(t *rapid.T, d Desired, slots []Slot) {
	live := 0
	for _, s := range slots {
		n, _ := strconv.Atoi(s.ID)
		switch {
		case n >= d.Replicas, !s.live() && !d.Frozen[s.ID]:
			t.Fatalf("slot %s is left: %+v", s.ID, s)
		case s.live() && (!s.serves() || s.Version != d.Target || d.Frozen[s.ID]):
			t.Fatalf("slot %s is not as wanted: %+v", s.ID, s)
		case s.live():
			live++
		}
	}
	for n := range d.Replicas {
		if !d.Frozen[strconv.Itoa(n)] {
			live--
		}
	}
	if live != 0 {
		t.Fatalf("the live ordinals are not those wanted: %+v", slots)
	}
}

func TestALargeOrderedForecastIsReportedAtOnce(t *testing.T) {
	desired := Desired{Ordered: true, Replicas: 2000, Target: Version{Release: "v1"}, Strategy: defaultStrategy()}
	creates := 0
	for _, a := range Forecast(desired, nil, epoch) {
		if a.Verb == Create {
			creates++
		}
	}
	if creates != 2000 {
		t.Errorf("2000 ordinals are to be made, %d creations are planned", creates)
	}
}
