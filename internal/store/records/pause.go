package records

import "time"

// Pause keeps every server from changing anything, after an older store was restored, until a person resumes.
type Pause struct {
	// Number counts the pauses: a server compares it to know which pause is over.
	Number int64 `json:"number"`
	// Reason explains the pause to people; Server is the server that found the older store.
	Reason string    `json:"reason"`
	Server string    `json:"server,omitempty"`
	Since  time.Time `json:"since"`
}

// Pause reads the pause of the cluster; it doesn't exist while the cluster is not paused.
func (s Snapshot) Pause() Read[Pause] { return get[Pause](s, PauseKey) }

// LastPause reads the last pause that is over.
func (s Snapshot) LastPause() Read[Pause] { return get[Pause](s, LastPauseKey) }

// PauseReason returns the reason why the cluster is paused, or "".
func (s Snapshot) PauseReason() string {
	if pause := s.Pause(); pause.Exists() {
		return pause.Value.Reason
	}
	return ""
}
