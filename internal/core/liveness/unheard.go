package liveness

import "time"

// missedBeats is the number of beats that a node may miss until it counts as unheard.
const missedBeats = 2

// Patience returns how long a server waits for the next beat of a node until that counts as unheard: two beats. usual
// is the time between two beats by the server's own settings. A node that was set otherwise is known by the time
// between its last two beats, apart. No node that is well lets longest go by without one.
func Patience(usual, apart, longest time.Duration) time.Duration {
	return missedBeats * min(max(usual, apart), longest)
}

// Beat holds what the store has of a node's heartbeat while that lasts.
type Beat struct {
	// Server is the one that hears the node, and Life the time at which that was started. It is empty if the store
	// doesn't say.
	Server string
	Life   time.Time
	// Last is the time of the last beat if the node has missed two since; else zero.
	Last time.Time
}

// Unheard reports whether no server hears a node whose heartbeat lasts, and when one heard it last, if that is known.
// life is the time at which the server of that name was started, as it says itself; zero if none of that name runs. A
// server that was started again has not heard the node until it writes the beat again. A node of which the store
// doesn't say who hears it counts as heard.
//
// It says nothing of whether the node is lost: Judge does, and doesn't ask.
func Unheard(b Beat, life time.Time) (last time.Time, unheard bool) {
	if !b.Last.IsZero() {
		return b.Last, true
	}
	return time.Time{}, b.Server != "" && !life.Equal(b.Life)
}
