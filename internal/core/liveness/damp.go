package liveness

import (
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/deadline"
)

// The losses of a node count for an hour. From the third on, the node gets no pods for a while after it has returned:
// 30 s, and twice as long with each further loss.
const (
	remembered    = time.Hour
	firstDamping  = 3
	shortestPause = 30 * time.Second
	longestPause  = 15 * time.Minute
)

// Damp returns what to remember of a node's losses, and when that changes if nothing happens; 0 is never. lost says
// that the node is judged to be lost now, alive that it answers. A record without a loss is to be forgotten.
func Damp(before api.NodeLosses, lost, alive bool, now time.Time) (next api.NodeLosses, after time.Duration) {
	next = api.NodeLosses{Lost: before.Lost, Until: before.Until}
	for _, at := range before.At {
		if age := now.Sub(at); age >= 0 && age < remembered {
			next.At = append(next.At, at)
		}
	}
	switch {
	case lost && !before.Lost:
		next.At, next.Lost, next.Until = append(next.At, now), true, time.Time{}
	case alive && before.Lost:
		next.Lost = false
		if pause := Pause(len(next.At)); pause > 0 {
			next.Until = now.Add(pause)
		}
	}
	if after = deadline.Left(next.Until, now, longestPause); after == 0 {
		next.Until = time.Time{}
	}
	if len(next.At) > 0 {
		if left := next.At[0].Add(remembered).Sub(now); after == 0 || left < after {
			after = left
		}
	}
	return next, after
}

// Damped reports whether a node that answers gets no pods because of its losses.
func Damped(losses api.NodeLosses) bool {
	return !losses.Until.IsZero() || losses.Lost && Pause(len(losses.At)) > 0
}

// Pause returns how long a node gets no pods after it was lost for the nth time within an hour.
func Pause(n int) time.Duration {
	pause := shortestPause
	for range n - firstDamping {
		pause = min(2*pause, longestPause)
	}
	if n < firstDamping {
		return 0
	}
	return pause
}

// SameLosses reports whether two records say the same.
func SameLosses(a, b api.NodeLosses) bool {
	return a.Lost == b.Lost && a.Until.Equal(b.Until) && slices.EqualFunc(a.At, b.At, time.Time.Equal)
}
