package liveness

import "time"

// missedBeats is the number of beats that a node may miss until it counts as unheard.
const missedBeats = 2

// Rhythm holds when a server heard a node last, and how often that beats. The zero value is that of a node that was
// never heard.
type Rhythm struct {
	// Last is the time of the last beat.
	Last time.Time
	// gaps are the times between the last beats, the newest first; 0 is not known yet. There are two, because a beat
	// that is late shortens the gap after it.
	gaps [2]time.Duration
}

// Beat returns the rhythm after a beat.
func (r Rhythm) Beat(now time.Time) Rhythm {
	next := Rhythm{Last: now}
	if !r.Last.IsZero() {
		next.gaps = [2]time.Duration{max(now.Sub(r.Last), 1), r.gaps[0]}
	}
	return next
}

// Patience returns how long after its last beat a node counts as unheard: the time of two beats. usual is the time
// between two by the server's own settings. A node may be set otherwise, and doesn't say so: it is known by the longer
// one of its last two gaps. Until it has beaten often enough, it may beat as seldom as a node that is well ever does,
// longest apart.
func (r Rhythm) Patience(usual, longest time.Duration) time.Duration {
	apart := max(usual, r.gaps[0], r.gaps[1])
	if r.gaps[1] == 0 {
		apart = longest
	}
	return missedBeats * min(apart, longest)
}
