// Package labtest lists the legal moves of a lab, for tests that observe one. Package lab decides them.
package labtest

import (
	"slices"

	"tend.dev/tend/api"
)

// Phases are all phases, in the order of a lab's life.
var Phases = []api.LabPhase{
	api.LabPending, api.LabProvisioning, api.LabRunning, api.LabCompleted, api.LabFailed, api.LabTimeout,
}

// moves are all legal moves. A phase without any is final.
var moves = map[api.LabPhase][]api.LabPhase{
	"":                  {api.LabPending},
	api.LabPending:      {api.LabProvisioning},
	api.LabProvisioning: {api.LabRunning, api.LabFailed},
	api.LabRunning:      {api.LabCompleted, api.LabFailed, api.LabTimeout},
}

// Legal reports whether a lab may move between two phases.
func Legal(from, to api.LabPhase) bool { return slices.Contains(moves[from], to) }
