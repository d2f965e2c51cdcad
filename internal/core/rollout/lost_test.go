package rollout

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// A lost slot is given up only for one that runs or is created elsewhere, and what is created waits for no container on
// a lost node if there is another node.
func TestALostSlotIsGivenUpForAnother(t *testing.T) {
	always(t, func(t *rapid.T, l look) {
		p := observe(l.desired, l.before, l.now)
		for _, a := range l.plan.Actions {
			s := l.slot(a.Slot)
			switch {
			case a.Verb == Create && p.abandoned(a.After):
				t.Fatalf("%v waits for a lost node", a)
			case a.Verb != Shutdown || a.Reason != api.ReasonNodeLost:
			case p.successor[s.ID] != nil && (s.Elsewhere || p.settled(p.successor[s.ID])):
			case !p.stranded(s):
				t.Fatalf("%v, although nothing would take its place: %+v", a, *s)
			case !succeeded(l, s):
				t.Fatalf("%v, and nothing takes its place: %v", a, l.plan.Actions)
			}
		}
	})
}

// succeeded reports whether a plan creates a slot in the place of another.
func succeeded(l look, s *Slot) bool {
	for _, a := range l.plan.Actions {
		if a.Verb == Create && (a.Replaces == s.ID || s.Replaces != "" && a.Replaces == s.Replaces) {
			return true
		}
	}
	return false
}

// A slot that runs well on a node that is silent stays as it is if no node takes its place, whatever version it is of.
// It goes only if it is surplus, frozen, or half of a pair whose other half serves.
func TestALostSlotWithNowhereToGoStays(t *testing.T) {
	always(t, func(t *rapid.T, l look) {
		p := observe(l.desired, l.before, l.now)
		if l.plan.Phase == api.RolloutRollingBack || l.desired.Deleting {
			return
		}
		for _, a := range l.plan.Actions {
			s := l.slot(a.Slot)
			if a.Verb != Shutdown || !s.Lost || s.Elsewhere || !s.live() || s.broken() || p.waiting(s) {
				continue
			}
			paired := p.successor[s.ID] != nil || l.slot(s.Replaces) != nil && p.successor[s.Replaces] != nil
			if a.Reason != "scaled down" && !p.iced[s.ID] && !paired {
				t.Fatalf("%v, although no node takes its place: %+v", a, *s)
			}
		}
	})
}

// A scale-down takes lost slots before all others.
func TestScaleDownTakesLostSlotsFirst(t *testing.T) {
	always(t, func(t *rapid.T, l look) {
		spared := ""
		for _, s := range observe(l.desired, l.before, l.now).places() {
			if s.Lost && !stops(l.plan, s.ID) {
				spared = s.ID
			}
		}
		for _, a := range l.plan.Actions {
			if s := l.slot(a.Slot); a.Reason == "scaled down" && spared != "" && !s.Lost && l.slot(s.Replaces) == nil {
				t.Fatalf("%v, and the lost slot %s stays", a, spared)
			}
		}
	})
}

// A lost slot says nothing new about the release: it counts neither as a failure nor as a success.
func TestALostSlotJudgesNothing(t *testing.T) {
	always(t, func(t *rapid.T, l look) {
		if s := l.slot(l.plan.Slot); s != nil && s.Lost && !s.CrashLoop {
			t.Fatalf("%s: %s of a lost slot: %+v", l.plan.Reason, l.plan.Message, *s)
		}
		for _, s := range l.before {
			for _, a := range l.plan.Actions {
				if s.Lost && s.live() && a.Slot == s.Replaces && a.Reason == "replaced by its successor" {
					t.Fatalf("%v, which is lost: %+v", a, s)
				}
			}
		}
	})
}

// With one node left, a deployment converges on it, whatever happened before.
func TestADeploymentConvergesOnTheNodesThatAreLeft(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		h.nodes = []string{"n1", "n2", "n3"}
		rt.Repeat(h.events())
		h.heal()
		clear(h.drained)
		h.cut["n1"], h.cut["n2"] = true, rapid.Bool().Draw(rt, "both")
		if !h.run(h.now.Add(24 * time.Hour)) {
			rt.Fatalf("not quiet after a day: %+v\n%+v", h.plan(), h.list())
		}
		slots := h.list()
		wanted := wantedPlaces(look{before: slots, desired: h.desired, now: h.now})
		slots = slices.DeleteFunc(slots, func(s Slot) bool { return !s.live() }) // the dead are as the silent nodes left them
		checkEnd(rt, h.desired, slots, wanted)
	})
}

// Where all nodes are silent, or too many at once, nothing is replaced; and when they are back, nothing was.
func TestNothingIsReplacedWithNowhereToGo(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		rt.Repeat(h.events())
		nothingHappens(rt, h, "")
	})
}

// An up-to-date ordinal waits for its node, even if there are others.
func TestALostOrdinalWaitsForItsNode(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newOrderedHistory(rt)
		h.nodes = []string{"n1", "n2", "n3"}
		rt.Repeat(h.orderedEvents())
		nothingHappens(rt, h, "n3")
	})
}

// nothingHappens lets a history settle, and cuts all nodes but one that is left.
func nothingHappens(t *rapid.T, h *history, left string) {
	h.heal()
	if !h.run(h.now.Add(24 * time.Hour)) {
		t.Fatalf("not quiet after a day: %+v", h.plan())
	}
	lost := false
	for _, node := range h.nodes {
		h.cut[node] = node != left
	}
	for _, s := range h.list() {
		lost = lost || s.live() && s.Lost
	}
	made, plan := h.made, h.plan()
	if len(plan.Actions) > 0 || plan.After > 0 {
		t.Fatalf("%v again in %s, with nowhere to go", plan.Actions, plan.After)
	}
	if lost && (plan.Phase != api.RolloutProgressing || plan.Reason != api.ReasonNodeLost || plan.Slot != "" ||
		plan.Counts.Lost == 0) {
		t.Fatalf("a lost slot is not reported: %+v", plan)
	}
	clear(h.cut)
	if plan = h.plan(); len(plan.Actions) > 0 || h.made != made || plan.Phase != api.RolloutComplete {
		t.Fatalf("not as it was before: %+v", plan)
	}
}

// Even a rollout that doesn't wait for readiness keeps the old slot while the new one is lost.
func TestALostSuccessorIsNotSettled(t *testing.T) {
	d := Desired{Replicas: 1, Target: Version{Release: "v2"}, Strategy: defaultStrategy()}
	d.Strategy.WaitReady = false
	old := Slot{ID: "a", Task: "a", Version: Version{Release: "v1"}, Placed: true, Observed: true,
		State: api.TaskRunning, Ready: true,
		CreatedAt: epoch, StartedAt: epoch, RunningAt: epoch, ReadyAt: epoch}
	next := Slot{ID: "b", Task: "b", Replaces: "a", Version: d.Target, Placed: true, Observed: true,
		State:     api.TaskRunning,
		CreatedAt: epoch, StartedAt: epoch, RunningAt: epoch, Lost: true}
	if plan := Decide(d, []Slot{old, next}, epoch.Add(time.Second)); len(plan.Actions) > 0 {
		t.Errorf("%v", plan.Actions)
	}
	next.Lost = false
	if plan := Decide(d, []Slot{old, next}, epoch.Add(d.Strategy.Monitor)); len(plan.Actions) != 1 {
		t.Errorf("%v of one that is not lost", plan.Actions)
	}
}
