// Package labtest holds the moves of a lab as the seed lists them, for the tests that observe one.
//
// It decides nothing: package lab does.
package labtest

import (
	"slices"

	"tend.dev/tend/api"
)

// Phases are all phases, in the order of a lab's life.
var Phases = []api.LabPhase{
	api.LabPending, api.LabProvisioning, api.LabRunning, api.LabCompleted, api.LabFailed, api.LabTimeout,
}

// moves are all moves there are. A phase without any is an end.
var moves = map[api.LabPhase][]api.LabPhase{
	"":                  {api.LabPending},
	api.LabPending:      {api.LabProvisioning},
	api.LabProvisioning: {api.LabRunning, api.LabFailed},
	api.LabRunning:      {api.LabCompleted, api.LabFailed, api.LabTimeout},
}

// Legal reports whether a lab may move between two phases.
func Legal(from, to api.LabPhase) bool { return slices.Contains(moves[from], to) }
