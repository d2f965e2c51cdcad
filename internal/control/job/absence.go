package job

import (
	"sync"
	"time"

	"tend.dev/tend/internal/layout"
)

// absences remembers since when nodes have been without heartbeat. A server that boots waits a whole timeout before it
// takes a node for lost: it can't know how long the heartbeat has been missing. Time is the process's own, by Go's monotonic
// clock: a wall clock that is set makes no node lost.
type absences struct {
	timeout time.Duration
	mu      sync.Mutex
	since   map[string]time.Time
}

func newAbsences(timeout time.Duration) *absences {
	return &absences{timeout: timeout, since: map[string]time.Time{}}
}

// clear forgets the absence of a node that was heard from. Without it a mark that no run asked about since would turn the
// next lapse, however short, into a lost node.
func (a *absences) clear(node string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, node)
}

// lost says whether a node is down, and while it is only silent, in how long it will be.
func (a *absences) lost(s layout.Snapshot, node string) (lost bool, left time.Duration) {
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
