package owner

import (
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/records"
)

// Unplaced explains the first of the tasks that waits for a node; the zero Refusal if none does. refusals returns why
// tasks can't be placed; nil explains nothing.
func Unplaced(s records.Snapshot, tasks []Task, refusals func(records.Snapshot) map[string]placement.Refusal) placement.Refusal {
	all := Refusals(s, tasks, refusals)
	for _, t := range tasks {
		if refusal, refused := all[t.Desired.Value.ID]; refused {
			return refusal
		}
	}
	return placement.Refusal{}
}

// Refusals returns why tasks can't be placed, by task id. It asks only if one of the tasks waits for a node.
func Refusals(s records.Snapshot, tasks []Task, refusals func(records.Snapshot) map[string]placement.Refusal) map[string]placement.Refusal {
	waits := func(t Task) bool { return t.Desired.Value.Node == "" && t.Desired.Value.Desired == api.DesiredRunning }
	if refusals == nil || !slices.ContainsFunc(tasks, waits) {
		return nil
	}
	return refusals(s)
}
