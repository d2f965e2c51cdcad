package job

import (
	"sync"
	"time"

	"tend.dev/tend/internal/records"
)

// absences records since when each node has had no heartbeat. A server that boots waits a whole timeout before it
// treats a node as lost: it can't know how long the heartbeat has been missing. Time is measured by Go's monotonic
// clock, so a change of the wall clock makes no node lost.
type absences struct {
	timeout time.Duration
	mu      sync.Mutex
	since   map[string]time.Time
}

func newAbsences(timeout time.Duration) *absences {
	return &absences{timeout: timeout, since: map[string]time.Time{}}
}

// clear deletes the mark of a node whose heartbeat is back. Otherwise an old mark that no run asked about since would
// turn the next lapse, however short, into a lost node.
func (a *absences) clear(node string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, node)
}

// lost reports whether a node is down. For a silent node that is not lost yet, left is the time until it is.
func (a *absences) lost(s records.Snapshot, node string) (lost bool, left time.Duration) {
	if node == "" {
		return false, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.Alive(node) {
		delete(a.since, node)
		return false, 0
	}
	since, known := a.since[node]
	if !known {
		since = time.Now()
		a.since[node] = since
	}
	left = a.timeout - time.Since(since)
	return left <= 0, left
}
