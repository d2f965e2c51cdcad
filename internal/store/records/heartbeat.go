package records

import (
	"encoding/json"
	"time"

	"tend.dev/tend/api"
)

// Heartbeat is stored while a node's heartbeat lasts, by the server that hears the node. A value in the format of an
// older server reads as empty.
type Heartbeat struct {
	// Server is the server that hears the node, and Life the time of its start. A server that runs alone has no name.
	Server string    `json:"server,omitempty"`
	Life   time.Time `json:"life,omitzero"`
	// Last is the time of the last beat, written once the node has missed two. Writing it is not a beat.
	Last time.Time `json:"last,omitzero"`
	// Unheard is set once a server that was started again has got no beat in time. Writing it is not a beat either.
	Unheard bool `json:"unheard,omitempty"`
}

// Beats reports whether the node has beaten when the record was written; else it was written of its silence.
func (h Heartbeat) Beats() bool { return h.Last.IsZero() && !h.Unheard }

// HeartbeatOf reads the value of a heartbeat's key, as a view has it.
func HeartbeatOf(value any) (out Heartbeat) {
	raw, _ := value.([]byte)
	if json.Unmarshal(raw, &out) != nil {
		return Heartbeat{}
	}
	return out
}

// Heartbeat returns the stored heartbeat of a node, or the zero value.
func (s Snapshot) Heartbeat(node string) Heartbeat {
	record, _ := s.Get(AliveKey(node))
	return HeartbeatOf(record.Value)
}

// ServerLife returns the start time of a running server, or the zero time.
func (s Snapshot) ServerLife(name string) time.Time {
	if presence := get[api.ServerPresence](s, ServerKey(name)); presence.Exists() {
		return presence.Value.Since
	}
	return time.Time{}
}

// Alive reports whether a node's heartbeat exists.
func (s Snapshot) Alive(node string) bool {
	_, ok := s.Get(AliveKey(node))
	return ok
}

// Observed reports whether what the store has of a node's pods is of now: the node's agent answers, and its engine has
// answered it. An agent reports everything again after its start, so what an earlier life of it reported counts until
// the first report only.
func (s Snapshot) Observed(node string) bool {
	facts := s.Node(node)
	return s.Alive(node) && (!facts.Exists() || facts.Value.Observes())
}
