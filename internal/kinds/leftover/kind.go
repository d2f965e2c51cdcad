package leftover

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

const kind = "leftover"

// Kind returns the kind whose steps forget leftovers. Its subjects are tasks.
func Kind() control.Kind {
	return control.Kind{
		KindInfo: api.KindInfo{Kind: kind}, Step: step,
		Keys:  func(s records.Snapshot) []api.Ref { return refs(s.Leftovers()) },
		Reads: []control.Input{affected},
	}
}

func refOf(task string) api.Ref { return api.Ref{Kind: kind, Scope: api.Unscoped, Name: task} }

func refs(tasks []records.Read[api.Task]) (out []api.Ref) {
	for _, task := range tasks {
		out = append(out, refOf(task.Value.ID))
	}
	return out
}

// affected returns the leftover that is changed or reported on, or all of them if a node is gone.
func affected(s records.Snapshot, change view.Change) []api.Ref {
	switch record := control.Changed(change).(type) {
	case *api.Task:
		if record.Leftover {
			return []api.Ref{refOf(record.ID)}
		}
	case *api.TaskStatus:
		if task := s.Task(record.ID); change.Deleted && task.Exists() && task.Value.Leftover {
			return []api.Ref{refOf(record.ID)}
		}
	case *api.NodeStatus:
		if change.Deleted {
			return refs(s.Leftovers())
		}
	}
	return nil
}

// step forgets a leftover of which nothing is left.
func step(o control.Observation) (control.Step, error) {
	next := control.Step{Guard: records.TaskKey(o.Ref.Name)}
	task := o.Task(o.Ref.Name)
	if task.Exists() && task.Value.Leftover &&
		(!o.TaskStatus(o.Ref.Name).Exists() || owner.Cleared(o.Snapshot, *task.Value)) {
		next.Txn = records.NewTxn("leftover.forget").ForgetTask(task)
	}
	return next, nil
}
