package scheduler

import (
	"sync"

	"tend.dev/tend/internal/core/placement"
)

// decision holds the nodes of tasks, and the reasons why the other tasks fit on none, by task id. It is shared: don't
// modify it.
type decision struct {
	assigned []placement.Assignment
	refused  map[string]placement.Refusal
}

// latest caches the newest decision: it depends on the revision alone, and every deployment with a waiting task asks.
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
