package liveness

import "time"

// missedBeats is the number of beats that a node may miss until it counts as unheard.
const missedBeats = 2

// Patience returns how long a server waits for the next beat of a node until that counts as unheard: two beats. usual is
// the time between two beats by the server's own settings. A node that was set otherwise is known by the time between
// its last two beats, apart. No node beats less often than each longest while it is well.
func Patience(usual, apart, longest time.Duration) time.Duration {
	return missedBeats * min(max(usual, apart), longest)
}

// Beat is what the store says of a node's heartbeat while that lasts.
type Beat struct {
	// Server is the one that hears the node, and Life the time at which that was started. It is empty if the store
	// doesn't say.
	Server string
	Life   time.Time
	// Last is the time of the last beat if the node has missed two since; else zero.
	Last time.Time
}

// Unheard reports whether no server hears a node whose heartbeat lasts, and when one heard it last, if that is known.
// lives holds the servers that run, with the time at which each was started. A server that was started again has not
// heard the node until it writes the beat again. A node of which the store doesn't say who hears it counts as heard.
//
// It says nothing of whether the node is lost: Judge does, and doesn't ask.
func Unheard(b Beat, lives map[string]time.Time) (last time.Time, unheard bool) {
	if !b.Last.IsZero() {
		return b.Last, true
	}
	life, runs := lives[b.Server]
	return time.Time{}, b.Server != "" && (!runs || !life.Equal(b.Life))
}
