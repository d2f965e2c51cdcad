package once

import "tend.dev/tend/api"

// Removal is the next step of removing an unwanted task.
type Removal int

// The steps of a removal.
const (
	// Nothing: the agent has to act first.
	Nothing Removal = iota
	// Stop the container and keep it.
	Stop
	// Remove the container.
	Remove
	// Forget the record: the container is gone.
	Forget
)

// Removal returns the next step of removing the task. A wanted task is only ever forgotten. An agent that has not
// reported on the task yet may be creating its container, so the task is stopped first. Once the agent has reported the
// end, a missing report means that the container is gone.
func (a Attempt) Removal(wanted bool) Removal {
	unheard := a.Placed && a.Status == nil
	switch {
	case a.Desired == api.DesiredRemoved && (a.Status == nil || !a.Placed):
		return Forget
	case wanted:
		return Nothing
	case unheard && a.Desired == api.DesiredRunning:
		return Stop
	case !unheard && a.Desired != api.DesiredRemoved:
		return Remove
	}
	return Nothing
}
