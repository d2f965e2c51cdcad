package api

import "encoding/json"

// PlannedAction is one action a controller would take, or takes: the same list is the dry run, the progress display and
// the audit event.
type PlannedAction struct {
	Object Ref `json:"object"`
	// Verb is a lower-case word: create, stop, remove, replace, mint, prune, …
	Verb    string `json:"verb"`
	Slot    string `json:"slot,omitempty"`
	Task    string `json:"task,omitempty"`
	Release string `json:"release,omitempty"`
	// Reason says why, as the planner put it.
	Reason string `json:"reason,omitempty"`
	// Text is the whole line as a person reads it.
	Text string `json:"text"`
}

// String is the line a person reads.
func (a PlannedAction) String() string { return a.Text }

// FieldChange is one field of a spec that differs. Old is absent where the field is new, New where it is gone.
type FieldChange struct {
	// Path is in the manifest's own words: strategy.order, ports[1], env.PORT.
	Path string          `json:"path"`
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}
