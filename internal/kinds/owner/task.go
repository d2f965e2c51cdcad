package owner

import (
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/once"
	"tend.dev/tend/internal/store/records"
)

// Task is a task with both its halves.
type Task struct {
	Desired records.Read[api.Task]
	// Status is nil until the node reports the task, and after the node has deleted its record.
	Status *api.TaskStatus
	// Absence is the absence of the task's node; zero once the task has ended.
	Absence Absence
	// Away is set if the task has ended and its node is lost, or a person confirmed that the node is off.
	Away bool
}

// Off reports whether the task has ended because a person said that its node is off. No node can say so itself.
func (t Task) Off() bool { return t.Ended() && t.Status.Reason == api.ReasonNodeDown }

// Ended reports whether its node has reported its end.
func (t Task) Ended() bool { return t.Status != nil && t.Status.State.Terminal() }

// Attempt returns a task of an attempt in the terms in which it is judged.
func (t Task) Attempt() once.Attempt {
	task := t.Desired.Value
	return once.Attempt{
		Desired: task.Desired, Reason: task.Reason, StopAt: task.EndedAt, Placed: task.Node != "", Lost: t.Absence.Lost,
		Status: t.Status,
	}
}

// Begin adds an attempt to a run: it returns the run, and the task to create for it. next says in which slot, from
// which release and in which role; Begin fills in the rest.
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
	tasks, nodes := slices.Clone(l.tasks.of(s, ref)), l.Nodes.Answers(s)
	for i := range tasks {
		task := &tasks[i]
		desired := task.Desired.Value
		if Cleared(s, *desired) {
			task.Status = nil
		}
		if nodes.Alive[desired.Node] || task.Off() {
			task.Away = !nodes.Alive[desired.Node]
		} else {
			absence := l.Of(s, desired.Node)
			left = Sooner(left, absence.Left)
			if task.Away = task.Ended() && absence.Lost && absence.Together == 0; !task.Ended() {
				task.Absence = absence
			}
		}
		if task.Away && desired.Desired == api.DesiredRemoved && deleting(s, ref) {
			task.Status = nil // the node clears it when it answers: a deletion doesn't wait for that
		}
	}
	return tasks, left
}

func deleting(s records.Snapshot, ref api.Ref) bool {
	object := s.Object(ref)
	return object.Exists() && object.Value.Metadata.Deleting()
}

// Forget deletes the record of a task of which nothing is left. One whose node doesn't answer becomes a leftover, which
// that node clears when it answers.
func Forget(txn *records.Txn, t Task) {
	if t.Away {
		txn.LeaveTask(t.Desired)
	} else {
		txn.ForgetTask(t.Desired)
	}
}

// Clearing reports whether a node that answers has yet to clear a leftover of an owner. It ignores those of an
// earlier object of the same name.
func Clearing(s records.Snapshot, ref api.Ref) bool {
	object := s.Object(ref)
	return slices.ContainsFunc(s.LeftoversOf(ref), func(task records.Read[api.Task]) bool {
		return s.Alive(task.Value.Node) && object.Exists() && task.Value.OwnerUID == object.Value.Metadata.UID
	})
}

// Cleared reports whether a task is to be removed, and its node was removed from the cluster: nothing of it is left to
// remove.
func Cleared(s records.Snapshot, task api.Task) bool {
	return task.Desired == api.DesiredRemoved && task.Node != "" && !s.Node(task.Node).Exists()
}

// Sooner returns the earlier of two waits; 0 is never.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Guard makes a transaction that was decided with tasks on silent nodes fail if one of these nodes has a heartbeat
// again.
func Guard(txn *records.Txn, tasks []Task) {
	guarded := map[string]bool{}
	for _, t := range tasks {
		if node := t.Desired.Value.Node; (t.Absence.Lost || t.Away) && !guarded[node] {
			guarded[node] = true
			txn.If(records.AliveKey(node), 0)
		}
	}
}

// PodName returns the name of the pod of a task; empty if the task is not among those.
func PodName(tasks []Task, id string) string {
	for _, t := range tasks {
		if t.Desired.Value.ID == id {
			return t.Desired.Value.ContainerName()
		}
	}
	return ""
}
