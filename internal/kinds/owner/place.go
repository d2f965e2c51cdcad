package owner

import (
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/store/records"
)

// Unplaced explains the first of the tasks that waits for a node; the zero Refusal if none does.
func Unplaced(s records.Snapshot, tasks []Task, b *board.Board) placement.Refusal {
	all := Refusals(s, tasks, b)
	for _, t := range tasks {
		if refusal, refused := all[t.Desired.Value.ID]; refused {
			return refusal
		}
	}
	return placement.Refusal{}
}

// Refusals returns why tasks can't be placed, by task id. It asks only if one of the tasks waits for a node.
func Refusals(s records.Snapshot, tasks []Task, b *board.Board) map[string]placement.Refusal {
	waits := func(t Task) bool { return t.Desired.Value.Node == "" && t.Desired.Value.Desired == api.DesiredRunning }
	if !slices.ContainsFunc(tasks, waits) {
		return nil
	}
	return b.Refusals(s)
}
