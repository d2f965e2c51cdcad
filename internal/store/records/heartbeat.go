package records

import (
	"encoding/json"
	"time"

	"tend.dev/tend/api"
)

// Heartbeat is stored for as long as a node's heartbeat lasts. The server that hears the node writes it. An older
// server stores another value, of which nothing is read.
type Heartbeat struct {
	// Server is the one that hears the node, and Life the time at which that was started. It is empty if the server is
	// alone.
	Server string    `json:"server,omitempty"`
	Life   time.Time `json:"life,omitzero"`
	// Last is the time of the last beat, once the node has missed two. Writing it is not a beat.
	Last time.Time `json:"last,omitzero"`
}

// HeartbeatOf reads the value of a heartbeat's key, as a view has it.
func HeartbeatOf(value any) (out Heartbeat) {
	raw, _ := value.([]byte)
	if json.Unmarshal(raw, &out) != nil {
		return Heartbeat{}
	}
	return out
}

// Heartbeat returns what is stored of a node's heartbeat; the zero value if it has none.
func (s Snapshot) Heartbeat(node string) Heartbeat {
	record, _ := s.Get(AliveKey(node))
	return HeartbeatOf(record.Value)
}

// ServerLife returns the time at which a server that runs was started; zero if none of that name runs.
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
