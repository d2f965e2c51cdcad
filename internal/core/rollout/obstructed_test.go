package rollout

import (
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestAPodThatFailsToStartIsNamed: at once in the progress, and as trouble if it lasts; ordinals alike.
func TestAPodThatFailsToStartIsNamed(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for name, ordered := range map[string]bool{"deployment": false, "statefulset": true} {
		desired := Desired{Replicas: 1, Ordered: ordered, Target: Version{Release: "v1"}, Strategy: api.ResolvedStrategy{
			MaxParallel: 1, WaitReady: true, Deadline: 5 * time.Minute, Order: api.OrderStartFirst,
		}}
		slot := Slot{ID: "0", Task: "t0", Version: desired.Target, Desired: api.DesiredRunning, Placed: true, Observed: true,
			State: api.TaskStarting, Reason: "EngineError", Message: "odd", Next: "see it", CreatedAt: now, FailingSince: now}
		plan := Decide(desired, []Slot{slot}, now.Add(time.Second))
		if plan.Slot != "" || plan.Message != "0 of 1 pods run v1: odd" || plan.After != 9*time.Second {
			t.Errorf("%s: at first %q: %s, and again after %s", name, plan.Slot, plan.Message, plan.After)
		}
		plan = Decide(desired, []Slot{slot}, now.Add(10*time.Second))
		if plan.Slot != "0" || plan.Reason != "EngineError" || plan.Message != "odd" || plan.Next != "see it" ||
			plan.Phase != api.RolloutProgressing {
			t.Errorf("%s: then %+v", name, plan)
		}
		slot.Ready, slot.State, slot.FailingSince, slot.Reason, slot.Message = true, api.TaskRunning, time.Time{}, "", ""
		if plan = Decide(desired, []Slot{slot}, now.Add(11*time.Second)); plan.Slot != "" {
			t.Errorf("%s: it runs, and %+v", name, plan)
		}
	}
}

// TestAPodThatAPersonPausedIsNamed: only a person lets it go on, so it is trouble at once, and waiting doesn't help.
func TestAPodThatAPersonPausedIsNamed(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for name, ordered := range map[string]bool{"deployment": false, "statefulset": true} {
		desired := Desired{Replicas: 1, Ordered: ordered, Target: Version{Release: "v1"}, Strategy: api.ResolvedStrategy{
			MaxParallel: 1, WaitReady: true, Deadline: 5 * time.Minute, Order: api.OrderStartFirst,
		}}
		slot := Slot{ID: "0", Task: "t0", Version: desired.Target, Desired: api.DesiredRunning, Placed: true, Observed: true,
			State: api.TaskRunning, Reason: api.ReasonPaused, Message: "by hand", CreatedAt: now, StartedAt: now,
			RunningAt: now, ReadyAt: now, UnreadyAt: now.Add(time.Hour)}
		plan := Decide(desired, []Slot{slot}, now.Add(time.Hour))
		if plan.Slot != "0" || plan.Reason != api.ReasonPaused || plan.Message != "by hand" || len(plan.Actions) > 0 {
			t.Errorf("%s: paused: %+v", name, plan)
		}
		slot.Ready, slot.UnreadyAt, slot.Reason, slot.Message = true, time.Time{}, "", ""
		if plan = Decide(desired, []Slot{slot}, now.Add(time.Hour+time.Second)); plan.Slot != "" {
			t.Errorf("%s: it goes on, and %+v", name, plan)
		}
	}
}

// TestTheFailureOfAnOrdinalStays over its attempts until one is good or fails otherwise: the summary doesn't change
// while the next attempt is on its way.
func TestTheFailureOfAnOrdinalStays(t *testing.T) {
	w := newWorld()
	w.desired = Desired{Replicas: 1, Ordered: true, Target: Version{Release: "v1"}, Strategy: api.ResolvedStrategy{
		MaxParallel: 1, WaitReady: true, Deadline: 5 * time.Minute, OnFailure: api.OnFailurePause,
	}}
	settle := func() (plan Plan) {
		for plan = w.plan(); len(plan.Actions) > 0; plan = w.plan() {
			w.performAll(plan)
			if s := w.slots["0"]; s != nil && s.Desired == api.DesiredRemoved {
				s.Observed, s.State, s.Reason, s.Message = false, "", "", "" // its agent has forgotten it
			}
		}
		return plan
	}
	failing := false
	for attempt, message := range []string{"port 80 is in use", "port 80 is in use", "no such device"} {
		for range 100 {
			plan := settle()
			if failing && (plan.Reason != "Rejected" || plan.Message == "" || plan.Next != "mend it") {
				t.Fatalf("before attempt %d: %s: %s", attempt+1, plan.Reason, plan.Message)
			}
			if s := w.slots["0"]; s.live() {
				break
			}
			w.now = w.now.Add(plan.After)
		}
		s := w.slots["0"]
		s.Placed, s.Observed, s.State, s.EndedAt = true, true, api.TaskRejected, w.now
		s.Reason, s.Message, s.Next, failing = "Rejected", message, "mend it", true
		if plan := w.plan(); plan.Message != message {
			t.Fatalf("after attempt %d it says %q, want %q", attempt+1, plan.Message, message)
		}
	}
}
