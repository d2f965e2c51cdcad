package records

import (
	"encoding/json"
	"time"

	"tend.dev/tend/api"
)

// Heartbeat is stored for as long as a node's heartbeat lasts. The server that hears the node writes it. An older
// server stores another value, of which nothing is read.
type Heartbeat struct {
	// Server is the one that hears the node, and Life the time at which that was started. A server that is alone has no
	// name.
	Server string    `json:"server,omitempty"`
	Life   time.Time `json:"life,omitzero"`
	// Last is the time of the last beat, once the node has missed two. Writing it is not a beat.
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
