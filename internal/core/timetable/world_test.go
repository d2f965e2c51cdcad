package timetable

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/once"
)

var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is a store, a node and a clock, for one job.
type world struct {
	now      time.Time
	desired  Desired
	line     Timeline
	runs     map[string]api.Run
	tasks    map[string]*Task
	drawn    int
	lasts    time.Duration // how long containers run, and their exit code
	code     int
	stopping time.Duration // how long a stop takes
	lost     bool
	full     bool            // no node takes another container
	dark     bool            // the node is down, and not lost yet
	mute     bool            // the last lines of failures are not reported with their end
	cut      map[string]bool // the tasks whose node was down for a while
	each     bool            // each release runs by itself
	minted   map[string]bool // the releases that are stored
	// due is when the plan may change without an event; zero is never.
	due time.Time
	// begun holds every run there ever was: none may come twice.
	begun map[string]bool
	fault string
	log   func(string, ...any)
}

func newWorld() *world {
	return &world{
		now: epoch, runs: map[string]api.Run{}, tasks: map[string]*Task{}, begun: map[string]bool{}, cut: map[string]bool{},
		minted: map[string]bool{}, lasts: 10 * time.Second,
		desired: Desired{
			Concurrency: api.ConcurrencyAllow, KeepSucceeded: 3, KeepFailed: 1, Release: "v1",
			StartingDeadline: 5 * time.Minute, Since: epoch,
		},
		log: func(string, ...any) {},
	}
}

func (w *world) observed() Observed {
	o := Observed{Timeline: w.line}
	for _, id := range slices.Sorted(maps.Keys(w.runs)) {
		o.Runs = append(o.Runs, w.runs[id])
	}
	for _, id := range slices.Sorted(maps.Keys(w.tasks)) {
		o.Tasks = append(o.Tasks, *w.tasks[id])
	}
	return o
}

func (w *world) plan() Plan {
	return Decide(w.wants(), w.observed(), w.now)
}

// decide carries out plans until one is empty.
func (w *world) decide() {
	for range 50 {
		w.record()
		plan := w.plan()
		for _, a := range plan.Actions {
			w.perform(a)
		}
		w.line, w.due = plan.Timeline, time.Time{}
		if plan.After > 0 {
			w.due = w.now.Add(plan.After)
		}
		if len(plan.Actions) == 0 {
			return
		}
	}
	w.broken("plans never come to an end: %v", w.plan().Actions)
}

// crash carries out the first actions of a plan and forgets the rest. The timeline is written only with the whole plan.
func (w *world) crash(n int) {
	w.record()
	plan := w.plan()
	if n > 0 && n < len(plan.Actions) && plan.Actions[n-1].Due != nil &&
		plan.Actions[n-1].Due.Trigger == api.TriggerDeclared {
		n++ // a release's own run is created when it begins: one commit
	}
	for _, a := range plan.Actions[:min(n, len(plan.Actions))] {
		w.perform(a)
	}
	w.due = w.now // a restarted server decides about everything
}

func (w *world) record() {
	tasks := w.observed().Tasks
	for id, run := range w.runs {
		w.runs[id] = Record(run, tasks)
	}
}

func (w *world) perform(a Action) {
	w.log("%s", a)
	switch a.Verb {
	case CreateRun:
		w.create(*a.Due)
	case StartAttempt:
		w.start(a)
	case StopAttempt:
		w.raise(w.tasks[a.Task], api.DesiredShutdown, a.Reason)
	case FinishRun:
		if w.runs[a.Run].State.Ended() {
			w.broken("run %s ends twice", a.Run)
		}
		w.runs[a.Run] = Finish(w.runs[a.Run], a, w.now)
	case CorrectRun:
		w.runs[a.Run] = Correct(w.runs[a.Run], a)
	case PruneRun:
		delete(w.runs, a.Run)
		for _, task := range w.tasks {
			if task.Run == a.Run {
				w.raise(task, api.DesiredRemoved, a.Reason)
			}
		}
	case RemoveTask:
		w.raise(w.tasks[a.Task], api.DesiredRemoved, a.Reason)
	case ForgetTask:
		delete(w.tasks, a.Task)
	}
}

func (w *world) create(run api.Run) {
	if w.begun[run.ID] {
		w.broken("run %s is begun twice", run.ID)
	}
	w.begun[run.ID], w.runs[run.ID] = true, run
}

func (w *world) stop(id string) {
	run := w.runs[id]
	run.StoppedBy = "root"
	w.runs[id] = run
}

func (w *world) start(a Action) {
	w.minted[a.Release] = true
	run := w.runs[a.Run]
	if run.StoppedBy != "" {
		w.broken("an attempt of run %s starts though it was stopped", a.Run)
	}
	if run.State.Ended() {
		w.broken("an attempt of run %s starts after its end", a.Run)
	}
	run.State, run.Release = api.RunRunning, a.Release
	w.runs[a.Run] = run
	w.drawn++
	id := fmt.Sprintf("t%d", w.drawn)
	w.tasks[id] = &Task{
		ID: id, Pod: "pod-" + id, Run: a.Run, Number: a.Attempt, CreatedAt: w.now,
		Attempt: once.Attempt{Desired: api.DesiredRunning, Placed: !w.full},
	}
}

func (w *world) raise(task *Task, desired api.DesiredState, reason string) {
	if !task.Desired.CanBecome(desired) {
		w.broken("task %s falls from %s to %s", task.ID, task.Desired, desired)
	}
	if task.Desired == api.DesiredRunning {
		task.Reason, task.StopAt = reason, w.now
	}
	task.Desired = desired
}

func (w *world) broken(format string, args ...any) {
	if w.fault == "" {
		w.fault = fmt.Sprintf(format, args...)
	}
}

// work lets the node do its work, and reports whether something happened.
func (w *world) work() (happened bool) {
	for _, task := range w.tasks {
		if was := task.Lost; was != w.lost {
			task.Lost, happened = w.lost, true
			w.cut[task.ID] = true
		}
		if !w.lost && !w.dark {
			happened = w.advance(task) || happened
		}
	}
	return happened
}

func (w *world) advance(task *Task) bool {
	s := task.Status
	switch {
	case !task.Placed && task.Desired == api.DesiredRunning:
		if task.Placed = !w.full; w.full && task.Unplaced == "" {
			task.Unplaced = "no node has room"
		}
		return task.Placed
	case !task.Placed:
		return false
	case task.Desired == api.DesiredRemoved:
		task.Status = nil
		return s != nil
	case s == nil && task.Desired == api.DesiredRunning:
		task.Status = &api.TaskStatus{State: api.TaskRunning, StartedAt: w.now}
	case s == nil:
		task.Status = &api.TaskStatus{State: api.TaskShutdown, FinishedAt: w.now}
	case s.State.Terminal():
		return false
	case task.Desired == api.DesiredShutdown && w.cut[task.ID] && s.ReadyAt.IsZero() &&
		s.StartedAt.Add(w.lasts).Before(w.now):
		w.end(task, api.TaskShutdown, w.code) // it ended by itself while the node was down
		task.Status.FinishedAt = s.StartedAt.Add(w.lasts)
	case task.Desired == api.DesiredShutdown:
		if s.ReadyAt.IsZero() { // when its stop was requested
			s.ReadyAt = w.now
		}
		if w.now.Sub(s.ReadyAt) < w.stopping {
			return false
		}
		w.end(task, api.TaskShutdown, 143)
	case !w.now.Before(s.StartedAt.Add(w.lasts)):
		state := api.TaskComplete
		if w.code != 0 {
			state = api.TaskFailed
		}
		w.end(task, state, w.code)
	default:
		return false
	}
	return true
}

func (w *world) end(task *Task, state api.TaskState, code int) {
	s := *task.Status
	s.State, s.FinishedAt, s.ExitCode = state, w.now, &code
	if state == api.TaskFailed {
		s.Reason, s.Message, s.LastLog = "Exited",
			fmt.Sprintf("the container ended with exit code %d", code), []string{"oh no"}
	}
	if w.mute {
		s.LastLog = nil
	}
	task.Status = &s
}

// speak reports the last lines of failures that were reported without.
func (w *world) speak() {
	for _, task := range w.tasks {
		if s := task.Status; s != nil && s.State == api.TaskFailed && s.LastLog == nil {
			status := *s
			status.LastLog, task.Status = []string{"oh no"}, &status
		}
	}
}

// pass lets time pass second by second; decisions are made when something happened or the last plan asked for it.
func (w *world) pass(d time.Duration, decides bool) {
	for until := w.now.Add(d); w.now.Before(until); {
		w.now = w.now.Add(time.Second)
		happened := w.work()
		if !decides {
			continue
		}
		awaited := !w.due.IsZero() && !w.now.Before(w.due)
		if !happened && !awaited {
			if plan := w.plan(); len(plan.Actions) > 0 {
				w.broken("%s: the plan changed by itself before %s: %v", w.now, w.due, plan.Actions)
			}
			continue
		}
		w.decide()
	}
}

// sortedRuns returns the runs, oldest first.
func (w *world) sortedRuns() []api.Run {
	return slices.SortedFunc(maps.Values(w.runs), func(a, b api.Run) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// live counts the containers that may run, of a run or of all. It leaves out those whose node was down: they were given
// up, and what is left of them when it returns is stopped.
func (w *world) live(run string) (count int) {
	for _, task := range w.tasks {
		if (run == "" || task.Run == run) && !task.Ended() && !w.cut[task.ID] {
			count++
		}
	}
	return count
}
