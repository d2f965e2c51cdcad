package simulation

import (
	"context"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// terms are the claims of the controllers that were written, with the life of the server that wrote each.
type terms struct {
	mu     sync.Mutex
	by     map[string]*server
	number int       // of the server that claimed last
	since  time.Time // when
}

// leader returns the number of the server that claimed the controllers last.
func (t *terms) leader() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.number
}

// began returns the time at which the controllers were claimed last.
func (t *terms) began() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since
}

// claims records a claim of the controllers.
func (l *link) claims(txn store.Txn) {
	t := &l.w.terms
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, op := range txn.Do {
		if op.Key != controlplane.ElectionKey || op.Delete || t.by[string(op.Value)] == l.life {
			continue
		}
		if t.by == nil {
			t.by = map[string]*server{}
		}
		t.by[string(op.Value)], t.number, t.since = l.life, l.number, time.Now()
		l.w.storyf("server %s has the controllers", serverName(l.number))
	}
}

// leads reports whether the store names this start of a server as the one with the controllers. While the world
// commits, no other claim is written.
func (l *link) leads() bool {
	if !l.w.shared() {
		return true
	}
	entry, err := l.Store.Get(context.Background(), controlplane.ElectionKey)
	t := &l.w.terms
	t.mu.Lock()
	defer t.mu.Unlock()
	return err == nil && t.by[string(entry.Value)] == l.life
}

// led are the records that the leader's controllers alone write.
var led = []string{records.StatusPrefix, records.ReleasesPrefix, records.SlotsPrefix,
	records.ImagesPrefix, records.TasksPrefix, records.PlacingKey}

// mayWrite: only the server with the controllers, in the start in which it claimed them, writes the controllers' keys.
func (l *link) mayWrite(leads bool, txn store.Txn) {
	if leads {
		return
	}
	for _, op := range txn.Do {
		for _, prefix := range led {
			if strings.HasPrefix(op.Key, prefix) {
				l.w.fail("server %s writes %s by %s, and doesn't have the controllers", serverName(l.number), op.Key, txn.Site)
				return
			}
		}
	}
}
