package scheduler

import (
	"sync"

	"tend.dev/tend/internal/core/placement"
)

// decision is where tasks go, and why the others go nowhere, by task id. It is shared: don't modify it.
type decision struct {
	assigned []placement.Assignment
	refused  map[string]placement.Refusal
}

// latest keeps the newest decision: it follows from the revision alone, and every deployment with a waiting task asks.
type latest struct {
	mu       sync.Mutex
	decided  bool
	revision int64
	decision decision
}

func (l *latest) at(revision int64, decide func() decision) decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.decided && l.revision == revision {
		return l.decision
	}
	l.decided, l.revision, l.decision = true, revision, decide()
	return l.decision
}
