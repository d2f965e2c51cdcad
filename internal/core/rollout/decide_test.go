package rollout

import (
	"testing"
	"time"

	"tend.dev/tend/api"
)

func TestAFailureWithoutAnEndStillWaits(t *testing.T) {
	s := running(0, "v1")
	s.State, s.Desired = api.TaskFailed, api.DesiredShutdown
	plan := Decide(Desired{Replicas: 1, Target: Version{Release: "v1"}, KeepDead: 1, Strategy: defaultStrategy()},
		[]Slot{s}, s.CreatedAt)
	if len(plan.Actions) > 0 || plan.After != minBackoff {
		t.Errorf("an agent that reports no end must not make the planner spin: %+v", plan)
	}
}

// Failures in the future, since the clock was set back, must not count as the newest of their place: their wait would
// be over, and the planner would fill the place again the instant it fails.
func TestAClockSetBackMakesNoFailureSpin(t *testing.T) {
	now := epoch.Add(time.Hour)
	old := running(0, "v1")
	failed := func(id string, at time.Time) Slot {
		s := running(0, "v2")
		s.ID, s.Task, s.Replaces = id, "task-"+id, old.ID
		s.State, s.Desired, s.CreatedAt, s.EndedAt = api.TaskRejected, api.DesiredShutdown, at, at
		return s
	}
	strategy := defaultStrategy()
	strategy.OnFailure = api.OnFailureContinue
	desired := Desired{Replicas: 1, Target: Version{Release: "v2"}, KeepDead: 3, Strategy: strategy}
	slots := []Slot{old, failed("ahead", now.Add(24*time.Hour)), failed("fresh", now)}
	for _, a := range Decide(desired, slots, now).Actions {
		if a.Verb == Create {
			t.Errorf("the place is filled again at once: %s", a)
		}
	}
	created := 0
	for _, a := range Decide(desired, slots, now.Add(maxBackoff)).Actions {
		if a.Verb == Create {
			created++
		}
	}
	if created != 1 {
		t.Errorf("%d attempts follow after the wait, want 1", created)
	}
}

// Pods of what is replaced were stopped and had failed before they knew it, on nodes whose clocks are ahead. Their
// places are not wanted any more: the one that is belongs to the target, whose failure must not be followed by an
// attempt for each of theirs, at once.
func TestAFailureOfTheTargetIsWaitedFor(t *testing.T) {
	now := epoch.Add(time.Hour)
	failed := func(id, release string, at time.Time) Slot {
		s := running(0, release)
		s.ID, s.Task, s.State, s.Desired, s.CreatedAt, s.EndedAt = id, "task-"+id, api.TaskRejected,
			api.DesiredShutdown, now, at
		return s
	}
	ahead := now.Add(20 * time.Second)
	slots := []Slot{failed("a", "v1", ahead), failed("b", "v1", ahead), failed("c", "v1", ahead), failed("d", "v2", now)}
	plan := Decide(Desired{Replicas: 1, Target: Version{Release: "v2"}, KeepDead: 3, Strategy: defaultStrategy()},
		slots, now)
	for _, a := range plan.Actions {
		if a.Verb == Create {
			t.Errorf("the place is filled again at once: %s", a)
		}
	}
	if plan.After != minBackoff {
		t.Errorf("the next look is after %s, want %s", plan.After, minBackoff)
	}
}

func TestActionsReadWell(t *testing.T) {
	v2 := Version{Release: "v2"}
	cases := map[string]struct {
		reason string
		action Action
		want   string
	}{
		"create": {"a scale-up", Action{Verb: Create, Version: v2}, "create a pod of v2"},
		"create behind": {"stop-first", Action{Verb: Create, Version: v2, After: "t"},
			"create a pod of v2, once one that is stopping has stopped"},
		"replace": {"start-first", Action{Verb: Create, Version: v2, Replaces: "a", Reason: "restart"},
			"create a pod of v2 in place of pod a (restart)"},
		"replace after": {
			"stop-first", Action{Verb: Create, Version: v2, Replaces: "a", After: "t"},
			"create a pod of v2 in place of pod a, once that has stopped",
		},
		"shutdown": {"with its reason", Action{Verb: Shutdown, Slot: "a", Reason: "scaled down"},
			"stop pod a (scaled down)"},
		"remove": {"without one", Action{Verb: Remove, Slot: "a"}, "remove the container of pod a"},
		"forget": {"the last of it", Action{Verb: Forget, Slot: "a", Reason: "x"}, "forget pod a"},
		"rollback": {"says why", Action{Verb: RollBack, Version: v2, Reason: "slot b failed"},
			"roll back to v2 (slot b failed)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.action.String(); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestALargeForecastIsReportedAtOnce(t *testing.T) {
	slots := current(1000)
	desired := Desired{Replicas: 1000, Target: Version{Release: "v3"}, KeepDead: 3, Strategy: defaultStrategy()}
	creates := 0
	for _, a := range Forecast(desired, slots, epoch.Add(time.Hour)) {
		if a.Verb == Create {
			creates++
		}
	}
	if creates != 1000 {
		t.Errorf("1000 slots are to be replaced, %d creations are planned", creates)
	}
}

// TestCounts: what crashes over and over doesn't run, and a ready pod of the target has arrived before it has proved
// itself.
func TestCounts(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	slot := func(id, release string) Slot {
		return Slot{ID: id, Task: id, Version: Version{Release: release}, Placed: true, Observed: true,
			State: api.TaskRunning, Ready: true, CreatedAt: now, StartedAt: now, RunningAt: now, ReadyAt: now}
	}
	crashing := slot("c", "v2")
	crashing.Replaces, crashing.CrashLoop = "a", true
	fresh := slot("d", "v2")
	fresh.Replaces = "b"
	desired := Desired{Replicas: 2, Target: Version{Release: "v2"},
		Strategy: api.ResolvedStrategy{Order: api.OrderStartFirst, MaxParallel: 2, Monitor: time.Minute, Deadline: time.Hour}}
	got := Decide(desired, []Slot{slot("a", "v1"), slot("b", "v1"), crashing, fresh}, now).Counts
	want := Counts{Wanted: 2, Running: 3, Ready: 3, Arrived: 1, Outdated: 2, Failing: 1}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
