package liveness

import "time"

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
