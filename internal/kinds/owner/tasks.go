package owner

import (
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// taskSets keeps the tasks of owners from one snapshot to the next: most owners are read far more often than their
// tasks change. The zero value is ready to use. Of owners without tasks nothing is kept: that is as quickly read.
type taskSets struct {
	mu       sync.Mutex
	snapshot records.Snapshot // that the sets are of
	sets     map[api.Ref]*taskSet
}

// taskSet is the tasks of an owner. As long as it is the same one, so are they; nil is that there are none.
type taskSet struct{ tasks []Task }

// of returns the tasks of an owner, oldest first. Their absences are not filled in. They are shared: they must not be
// modified.
func (k *taskSets) of(s records.Snapshot, ref api.Ref) []Task {
	set := k.at(s.Plain(), ref)
	s.Kept(set, func(s records.Snapshot) any { return k.at(s, ref) })
	if set == nil {
		return nil
	}
	return set.tasks
}

func (k *taskSets) at(s records.Snapshot, ref api.Ref) *taskSet {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.snapshot.Reader != nil && s.Revision() < k.snapshot.Revision() {
		return readTasks(s, ref) // what is kept is newer
	}
	k.forget(s)
	k.snapshot = s
	set, kept := k.sets[ref]
	if kept {
		return set
	}
	if set = readTasks(s, ref); set != nil {
		k.sets[ref] = set
	}
	return set
}

// forget drops the sets that a newer snapshot has changes of.
func (k *taskSets) forget(s records.Snapshot) {
	if k.snapshot.Reader != nil && s.Revision() == k.snapshot.Revision() {
		return
	}
	if k.snapshot.Reader == nil {
		k.sets = map[api.Ref]*taskSet{}
		return
	}
	changes, known := s.Since(k.snapshot.Revision())
	if !known {
		clear(k.sets)
		return
	}
	for change := range changes {
		for _, value := range []any{change.Old, change.New} {
			switch record := value.(type) {
			case *api.Task:
				delete(k.sets, record.Owner())
			case *api.TaskStatus:
				if task := s.Task(record.ID); task.Exists() {
					delete(k.sets, task.Value.Owner())
				}
			}
		}
	}
}

func readTasks(s records.Snapshot, ref api.Ref) *taskSet {
	read := s.TasksOf(ref)
	if len(read) == 0 {
		return nil
	}
	tasks := make([]Task, len(read))
	for i, desired := range read {
		tasks[i] = Task{Desired: desired, Status: s.TaskStatus(desired.Value.ID).Value}
	}
	return &taskSet{tasks}
}
