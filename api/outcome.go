package api

import "time"

// Awaited is a write whose effect is awaited: that an object is as declared, or gone.
type Awaited struct {
	Ref
	// Revision is the write's; Generation the spec's, if the write made one.
	Revision   int64 `json:"revision"`
	Generation int64 `json:"generation,omitempty"`
	// Gone: it was a deletion.
	Gone bool `json:"gone,omitempty"`
	// Counts: only the number of pods is awaited, whatever happens to a release.
	Counts bool `json:"counts,omitempty"`
	// Built: the image is built, which is awaited even of a job.
	Built bool `json:"built,omitempty"`
}

// AwaitRequest asks for the outcomes of writes.
type AwaitRequest struct {
	Objects []Awaited `json:"objects"`
	// Since is the Revision of an earlier answer: the next one comes when something has changed since, after 25 s at the
	// latest. 0 is answered at once.
	Since int64 `json:"since,omitempty"`
}

// AwaitResult has an outcome for each Awaited, in their order.
type AwaitResult struct {
	Revision int64     `json:"revision"`
	Outcomes []Outcome `json:"outcomes"`
}

// OutcomeState is the stage of a write.
type OutcomeState string

// The states of a write. Nothing changes in the last four without another write, or the end of what is waited for.
const (
	OutcomePending   OutcomeState = "Pending"
	OutcomeConverged OutcomeState = "Converged"
	OutcomeFailed    OutcomeState = "Failed"
	// OutcomeReplaced: a newer change took the place of what was written, before it was complete.
	OutcomeReplaced OutcomeState = "Replaced"
	// rolled back, paused, or waiting: a lab for room, an object for one that is in trouble
	OutcomeHeld OutcomeState = "Held"
)

// Outcome is the result of a write.
type Outcome struct {
	State OutcomeState `json:"state"`
	// Reason is a CamelCase word for what it waits for or ended with; Message is for people.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Cause says why it failed, with the last lines of the Log of the container that did; Next is the step that helps.
	Cause string   `json:"cause,omitempty"`
	Log   []string `json:"log,omitempty"`
	Next  string   `json:"next,omitempty"`
	// Warning is something to know although it has converged.
	Warning string `json:"warning,omitempty"`
	// UpdatedAt is the time of the object's last write: older pods existed before.
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	Pods      []Pod     `json:"pods,omitempty"`
}
