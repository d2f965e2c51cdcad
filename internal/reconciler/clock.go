package reconciler

import (
	"math"
	"time"
)

// jumpSize is the divergence of wall and monotonic time from which it counts as a jump rather than as clock discipline.
const jumpSize = time.Second

// clock counts queue time: it never goes back, and it jumps ahead with the wall clock.
//
// The monotonic clock stands still while a machine is suspended and the wall clock may be set back, so neither alone
// says when something is due. Engine time runs with the monotonic clock and adds what the wall clock jumps ahead. A
// wall clock set back changes nothing: a key is then reconciled early, which is harmless.
//
// It is guarded by the controller's lock.
type clock struct {
	read func() (wall, mono time.Duration)
	// parted is the last difference of wall and monotonic time; added is the sum of all jumps ahead.
	parted time.Duration
	added  time.Duration
}

func newClockFrom(read func() (wall, mono time.Duration)) clock {
	wall, mono := read()
	return clock{read: read, parted: wall - mono}
}

func (c *clock) now() time.Duration {
	wall, mono := c.read()
	jump := wall - mono - c.parted
	if jump >= jumpSize {
		c.added += jump
	}
	if jump >= jumpSize || jump <= -jumpSize {
		c.parted += jump
	}
	return mono + c.added
}

// in returns the queue time that comes after d, or the last one there is.
func (c *clock) in(d time.Duration) time.Duration {
	now := c.now()
	return now + min(d, math.MaxInt64-now)
}

func systemTime() func() (wall, mono time.Duration) {
	start := time.Now()
	return func() (wall, mono time.Duration) {
		now := time.Now()
		return time.Duration(now.UnixNano()), now.Sub(start)
	}
}
