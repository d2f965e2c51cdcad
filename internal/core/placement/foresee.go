package placement

import "slices"

// Foresee returns the plan as it would be if some tasks were as given, and others were gone. The ledger stays as it
// is.
func (l *Ledger) Foresee(next []Task, gone []string) []Assignment {
	var before []*Task
	var added []string
	note := func(id string) {
		if t := l.tasks[id]; t != nil {
			before = append(before, t)
		} else {
			added = append(added, id)
		}
	}
	for _, id := range gone {
		note(id)
		l.RemoveTask(id)
	}
	for _, t := range next {
		note(t.ID)
		l.PutTask(t)
	}
	placed, _ := l.Plan()
	for _, id := range added {
		l.RemoveTask(id)
	}
	for _, t := range slices.Backward(before) {
		l.PutTask(*t)
	}
	return placed
}
