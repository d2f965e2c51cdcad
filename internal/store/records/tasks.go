package records

import (
	"slices"

	"tend.dev/tend/api"
)

// Task reads the desired half of a task.
func (s Snapshot) Task(id string) Read[api.Task] { return get[api.Task](s, TaskKey(id)) }

// TaskStatus reads the observed half of a task.
func (s Snapshot) TaskStatus(id string) Read[api.TaskStatus] {
	return get[api.TaskStatus](s, TaskStatusKey(id))
}

// LeftoversOf returns the leftover tasks of an owner: nothing waits for them, but their nodes have yet to remove the
// containers.
func (s Snapshot) LeftoversOf(ref api.Ref) []Read[api.Task] {
	return collect[api.Task](s.Index(IndexLeftovers, ref.String()))
}

// Leftovers returns the leftover tasks of all owners.
func (s Snapshot) Leftovers() []Read[api.Task] { return collect[api.Task](s.Index(IndexLeftovers, "")) }

// ReleaseOf reads the release that a task runs. The leftover task of a deleted object has none: if an object is made
// again under that name, its releases begin at the same number.
func (s Snapshot) ReleaseOf(task api.Task) Read[api.Release] {
	if object := s.Object(task.Owner()); object.Exists() && object.Value.Metadata.UID != task.OwnerUID {
		return Read[api.Release]{}
	}
	return s.Release(task.Owner(), task.Release)
}

// TasksOf returns the tasks of a workload, oldest first, without leftovers.
func (s Snapshot) TasksOf(ref api.Ref) []Read[api.Task] {
	tasks := collect[api.Task](s.Index(IndexTasksByOwner, ref.String()))
	slices.SortStableFunc(tasks, func(a, b Read[api.Task]) int { return a.Value.CreatedAt.Compare(b.Value.CreatedAt) })
	return tasks
}

// TasksOn returns the tasks assigned to a node.
func (s Snapshot) TasksOn(node string) []Read[api.Task] {
	return collect[api.Task](s.Index(IndexTasksByNode, node))
}

// TasksAfter returns the tasks that start after the end of a task.
func (s Snapshot) TasksAfter(id string) []Read[api.Task] {
	return collect[api.Task](s.Index(IndexTasksAfter, id))
}

// Tasks returns all tasks.
func (s Snapshot) Tasks() []Read[api.Task] { return collect[api.Task](s.Prefix(TasksPrefix)) }
