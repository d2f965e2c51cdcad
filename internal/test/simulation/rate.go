package simulation

import (
	"sync"
	"time"
)

// A server that commits more than maxRate times within rateTime goes round in circles.
const (
	maxRate  = 2000
	rateTime = 10 * time.Second
)

// spins counts a commit, and reports whether there were too many lately.
func (w *World) spins(site string) bool {
	w.count.commits.Add(1)
	r := &w.rate
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.since) > rateTime {
		r.since, r.commits = time.Now(), 0
	}
	r.commits++
	if left := maxRate - r.commits; left >= 0 && left < 10 {
		w.storyf("commit %d in %s: %s", r.commits, time.Since(r.since), site)
	}
	if r.commits == maxRate {
		w.fail("%d commits in %s, the last at %s: something goes round in circles", maxRate, time.Since(r.since), site)
	}
	return r.commits > maxRate
}

// rate counts the commits since a moment.
type rate struct {
	mu      sync.Mutex
	since   time.Time
	commits int
}
