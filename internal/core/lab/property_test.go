package lab

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/lab/labtest"
)

// TestMoves decides for every phase, kind of task, declaration and instant. Decide must make every legal move and no
// other.
func TestMoves(t *testing.T) {
	made := map[[2]api.LabPhase]bool{}
	for _, from := range append([]api.LabPhase{""}, labtest.Phases...) {
		for _, desired := range everyDesired() {
			for _, tasks := range everyTask() {
				for _, now := range []time.Time{epoch.Add(-time.Minute), epoch, epoch.Add(2 * time.Hour)} {
					seen := Observed{Phase: from, StartedAt: epoch, Tried: "v1", Tasks: tasks}
					to := Decide(desired, seen, now).Phase
					if from != to && !labtest.Legal(from, to) {
						t.Fatalf("%q moves to %q: %+v, %+v at %s", from, to, desired, seen, now.Sub(epoch))
					}
					made[[2]api.LabPhase{from, to}] = true
				}
			}
		}
	}
	for _, from := range append([]api.LabPhase{""}, labtest.Phases...) {
		for _, to := range labtest.Phases {
			if labtest.Legal(from, to) && !made[[2]api.LabPhase{from, to}] {
				t.Errorf("nothing moves %q to %q", from, to)
			}
		}
	}
}

// everyDesired returns all combinations of what may be declared and asked.
func everyDesired() (out []Desired) {
	for n := range 1 << 6 {
		set := func(bit int) bool { return n>>bit&1 == 1 }
		d := Desired{Duration: time.Hour, Start: epoch, Deleting: set(0), Redeclared: set(1)}
		if set(2) {
			d.StoppedBy = "ada"
		}
		if set(3) {
			d.Release = "v1"
		}
		if set(4) {
			d.Held = "asset/site"
		}
		if set(5) {
			d.Over = epoch.Add(time.Minute)
		}
		out = append(out, d)
	}
	return out
}

// everyTask returns no task, and one task in each state that a node may report.
func everyTask() [][]Task {
	out := [][]Task{nil}
	code := 7
	for n := range 1 << 3 {
		for _, desired := range []api.DesiredState{api.DesiredRunning, api.DesiredShutdown, api.DesiredRemoved} {
			for _, state := range []api.TaskState{
				"", api.TaskPreparing, api.TaskRunning, api.TaskComplete, api.TaskShutdown, api.TaskFailed, api.TaskRejected,
			} {
				task := Task{ID: "t1", Number: 1, Release: "v1", CreatedAt: epoch}
				task.Desired, task.Placed, task.Lost = desired, n&1 > 0, n&2 > 0
				if state != "" {
					task.Status = &api.TaskStatus{State: state, ExitCode: &code, FinishedAt: epoch.Add(time.Second)}
				}
				if n&4 > 0 && task.Status != nil {
					task.Status.RunningAt = epoch
				}
				out = append(out, []Task{task})
			}
		}
	}
	return out
}

// TestLives: the promises of the package hold, whatever people, nodes and time do. The world checks five of them after
// each step: moves are legal, no second container runs, none begins before its time or after the end, no running
// container is forgotten, and none runs longer than its time.
func TestLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.lasts = rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour, 1000 * time.Hour}).Draw(t, "lasts")
		w.takes = rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "takes")
		w.stopping = rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(t, "stopping")
		w.code = rapid.SampledFrom([]int{0, 7}).Draw(t, "code")
		w.rejects = rapid.IntRange(0, 3).Draw(t, "rejects")
		w.desired.Duration = rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "duration")
		w.desired.Start = epoch.Add(rapid.SampledFrom([]time.Duration{-time.Hour, 0, time.Minute, time.Hour}).Draw(t, "start"))
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{
			"tick", "tick", "tick", "down", "extend", "stop", "stop", "stop", "lose", "return", "fill", "free", "change", "move", "unknown", "known", "delete",
		}), 1, 30).Draw(t, "steps")
		for _, step := range steps {
			w.live(t, step)
			if w.fault != "" {
				t.Fatalf("%s: %s", step, w.fault)
			}
		}
		w.outlives(t)
	})
}

func (w *world) live(t *rapid.T, step string) {
	span := rapid.SampledFrom([]time.Duration{0, time.Second, 30 * time.Second, time.Minute, time.Hour}).Draw(t, "span")
	switch step {
	case "tick":
		w.pass(span)
	case "down":
		w.work()
		w.now = w.now.Add(span)
	case "extend":
		w.desired.Duration += span
	case "stop":
		if w.stored.Phase == api.LabProvisioning || w.stored.Phase == api.LabRunning {
			w.desired.StoppedBy = "ada"
		}
	case "lose", "return":
		w.lost = step == "lose"
	case "fill", "free":
		w.full = step == "fill"
	case "change":
		w.desired.Release = w.desired.Release + "1"
	case "move":
		if w.made == 0 {
			w.desired.Start = w.now.Add(span)
		}
	case "unknown", "known":
		w.desired.Release = map[string]string{"known": "v2"}[step]
	case "delete":
		w.desired.Deleting = w.desired.Deleting || span == time.Hour
	}
}

// outlives: once every node is back, time alone ends the lab, nothing of it is left and nothing more is planned.
func (w *world) outlives(t *rapid.T) {
	w.lost, w.full = false, false
	if w.desired.Release == "" {
		w.desired.Release = "v3"
	}
	w.pass(40 * time.Hour)
	switch {
	case w.fault != "":
		t.Fatal(w.fault)
	case !w.desired.Deleting && !w.stored.Phase.Ended():
		t.Fatalf("it is %s in the end", w.stored.Phase)
	case len(w.tasks) > 0:
		t.Fatalf("%d tasks are left", len(w.tasks))
	}
	plan := Decide(w.desired, w.observed(), w.now)
	if len(plan.Actions) > 0 || plan.After != 0 || plan.Phase != w.stored.Phase {
		t.Fatalf("after the end it plans %+v", plan)
	}
}

// TestTimeAloneChangesAPlanOnlyWhenItSays: the same state gets the same plan until After has passed.
func TestTimeAloneChangesAPlanOnlyWhenItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.takes = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "takes")
		w.rejects = rapid.IntRange(0, 2).Draw(t, "rejects")
		w.desired.Start = epoch.Add(rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "start"))
		w.pass(rapid.SampledFrom([]time.Duration{0, 2 * time.Second, 59 * time.Minute, 90 * time.Minute}).Draw(t, "passed"))
		seen := w.observed()
		plan := Decide(w.desired, seen, w.now)
		until := 10000 * time.Hour
		if plan.After > 0 {
			until = plan.After - 1
		}
		later := Decide(w.desired, seen, w.now.Add(time.Duration(rapid.Int64Range(0, int64(until)).Draw(t, "later"))))
		if later.Phase != plan.Phase || !reflect.DeepEqual(later.Actions, plan.Actions) {
			t.Fatalf("%+v, later %+v", plan, later)
		}
	})
}

func TestOrderOfTasksChangesNothing(t *testing.T) {
	w := newWorld()
	w.rejects, w.lost = 2, false
	w.pass(time.Hour)
	w.lost = true
	w.decide()
	seen := w.observed()
	seen.Tasks = append(seen.Tasks, Task{ID: "older", Number: 0, CreatedAt: epoch})
	plan := Decide(w.desired, seen, w.now)
	slices.Reverse(seen.Tasks)
	turned := Decide(w.desired, seen, w.now)
	if plan.Phase != turned.Phase || len(plan.Actions) != len(turned.Actions) {
		t.Errorf("%+v, in another order %+v", plan, turned)
	}
}

// TestNoContainerBesideOneThatMayRun: no container is made before the end of the last one is known, whatever stopped
// it.
func TestNoContainerBesideOneThatMayRun(t *testing.T) {
	w := newWorld()
	w.stored.Phase = api.LabProvisioning
	stopping := Task{ID: "t1", Number: 1, CreatedAt: epoch}
	stopping.Desired, stopping.Placed, stopping.StopAt = api.DesiredShutdown, true, epoch
	w.stored.Tasks = []Task{stopping}
	plan := Decide(w.desired, w.stored, w.now)
	if slices.ContainsFunc(plan.Actions, func(a Action) bool { return a.Verb == StartTask }) {
		t.Errorf("%+v", plan)
	}
}
