package lab

import (
	"fmt"
	"slices"

	"tend.dev/tend/api"
)

// moves are all moves there are. A phase without any is an end.
var moves = map[api.LabPhase][]api.LabPhase{
	"":                  {api.LabPending},
	api.LabPending:      {api.LabProvisioning},
	api.LabProvisioning: {api.LabRunning, api.LabFailed},
	api.LabRunning:      {api.LabCompleted, api.LabFailed, api.LabTimeout},
	api.LabCompleted:    nil,
	api.LabFailed:       nil,
	api.LabTimeout:      nil,
}

// MoveError is the refusal of a move that the life of a lab doesn't have.
type MoveError struct{ From, To api.LabPhase }

func (e *MoveError) Error() string {
	return fmt.Sprintf("a lab doesn't move from %s to %s", e.From, e.To)
}

// Move refuses every move between two phases but those of a lab's life. Staying is no move.
func Move(from, to api.LabPhase) error {
	if _, known := moves[from]; known && from == to || slices.Contains(moves[from], to) {
		return nil
	}
	return &MoveError{From: from, To: to}
}
