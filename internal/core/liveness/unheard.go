package liveness

import "time"

// Beat holds what the store has of a node's heartbeat while that lasts.
type Beat struct {
	// Server is the one that hears the node, and Life the time at which that was started. A server that is alone has no
	// name. Life is zero if the store doesn't say who hears the node.
	Server string
	Life   time.Time
	// Last is the time of the last beat if the node has missed two since; else zero.
	Last time.Time
	// Unheard is set once the server that was started again has waited for a beat in vain.
	Unheard bool
}

// Hearing is the state of a node whose heartbeat lasts, as far as its server hears it. Judge decides whether the node
// is lost, and doesn't ask for this.
type Hearing int

const (
	// Heard is a node that a server hears, or of which the store doesn't say.
	Heard Hearing = iota
	// Awaited is a node whose server was started again. It has not heard the node yet, but the silence was its own.
	Awaited
	// Unheard is a node that no server hears.
	Unheard
)

// HearingOf returns whether a node is heard, and when it was last if it isn't, as far as that is known. life is the
// time at which the server of the beat was started, as it says itself; zero if none of that name runs. A server without
// a name was alone: if it is one of several now, it was started again since.
func HearingOf(b Beat, life time.Time) (h Hearing, last time.Time) {
	switch {
	case b.Unheard || !b.Last.IsZero():
		return Unheard, b.Last
	case b.Life.IsZero() || life.Equal(b.Life):
		return Heard, time.Time{}
	case life.IsZero() && b.Server != "":
		return Unheard, time.Time{}
	}
	return Awaited, time.Time{}
}

// Grace returns how long a server that was started again waits for the nodes that it heard before: until then their
// silence may be its own. Each one that is well beats within longest, which is the most that it lets go by; and two
// beats by the server's own settings, usual apart, are time enough to connect.
func Grace(usual, longest time.Duration) time.Duration {
	return max(missedBeats*min(usual, longest), longest)
}
