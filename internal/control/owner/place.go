package owner

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/records"
)

// Unplaced explains the first of the tasks that waits for a node; the zero Refusal if none does. refusals returns why
// tasks can't be placed; nil explains nothing.
func Unplaced(s records.Snapshot, tasks []Task, refusals func(records.Snapshot) map[string]placement.Refusal) placement.Refusal {
	for _, t := range tasks {
		task := t.Desired.Value
		if task.Node != "" || task.Desired != api.DesiredRunning || refusals == nil {
			continue
		}
		if refusal, refused := refusals(s)[task.ID]; refused {
			return refusal
		}
	}
	return placement.Refusal{}
}
