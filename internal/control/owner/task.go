package owner

import (
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/once"
	"tend.dev/tend/internal/records"
)

// Task is a task with both its halves.
type Task struct {
	Desired records.Read[api.Task]
	// Status is nil while its node has reported nothing, and once that has forgotten it.
	Status *api.TaskStatus
	// Absence is that of its node; zero once the task has ended.
	Absence Absence
}

// Ended reports whether its node has reported its end.
func (t Task) Ended() bool { return t.Status != nil && t.Status.State.Terminal() }

// Attempt returns a task of an attempt in the terms in which it is judged.
func (t Task) Attempt() once.Attempt {
	task := t.Desired.Value
	return once.Attempt{
		Desired: task.Desired, Reason: task.Reason, StopAt: task.EndedAt, Placed: task.Node != "", Lost: t.Absence.Lost, Status: t.Status,
	}
}

// Begin adds an attempt to a run: it returns the run, and the task to create for it. next says in which slot, from which
// release and in which role; Begin fills in the rest.
func Begin(run api.Run, next api.Task, now time.Time) (api.Run, api.Task) {
	next.Kind, next.Scope, next.Name, next.Run = run.Kind, run.Scope, run.Name, run.ID
	next.Class, next.Desired, next.CreatedAt = api.ClassOnce, api.DesiredRunning, now
	run.State, run.Release = api.RunRunning, next.Release
	run.Attempts = append(slices.Clone(run.Attempts), api.RunAttempt{Task: next.ID, Pod: next.ContainerName()})
	return run, next
}

// Tasks returns the tasks of an owner, and the time until the first silent node of one that has not ended is lost; 0 is
// never.
func (l *Liveness) Tasks(s records.Snapshot, ref api.Ref) (tasks []Task, left time.Duration) {
	tasks, nodes := slices.Clone(l.tasks.of(s, ref)), l.Nodes.At(s)
	for i := range tasks {
		task := &tasks[i]
		desired := task.Desired.Value
		if desired.Desired == api.DesiredRemoved && desired.Node != "" && !s.Node(desired.Node).Exists() {
			task.Status = nil // the node was removed from the cluster: nothing of it is left to remove
		}
		if !task.Ended() && !nodes.Alive[desired.Node] {
			task.Absence = l.Of(s, desired.Node)
			left = Sooner(left, task.Absence.Left)
		}
	}
	return tasks, left
}

// Sooner returns the earlier of two waits; 0 is never.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Guard makes a transaction that was decided with lost tasks fail if one of their nodes has a heartbeat again.
func Guard(txn *records.Txn, tasks []Task) {
	guarded := map[string]bool{}
	for _, t := range tasks {
		if node := t.Desired.Value.Node; t.Absence.Lost && !guarded[node] {
			guarded[node] = true
			txn.If(records.AliveKey(node), 0)
		}
	}
}
