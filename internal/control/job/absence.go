package job

import (
	"sync"
	"time"

	"tend.dev/tend/internal/layout"
)

// absences remembers since when nodes have been without heartbeat. A server that boots waits a whole timeout before it
// takes a node for lost: it can't know how long the heartbeat has been missing.
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

// lost says whether a node is down, and while it is only silent, when it will be.
func (a *absences) lost(s layout.Snapshot, node string, now time.Time) (lost bool, at time.Time) {
	if node == "" {
		return false, time.Time{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.Alive(node) {
		delete(a.since, node)
		return false, time.Time{}
	}
	since, known := a.since[node]
	if !known || since.After(now) {
		since = now
		a.since[node] = now
	}
	at = since.Add(a.timeout)
	return !now.Before(at), at
}
