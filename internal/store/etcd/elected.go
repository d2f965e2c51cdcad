package etcd

import (
	"sync"
	"time"
)

// elections records the last elections that a member has seen.
type elections struct {
	mu      sync.Mutex
	term    uint64          // of the newest applied write; each election begins another term
	changed <-chan struct{} // closed when the member learns of a leader after it had none; nil before it knew one
	heard   time.Time       // when it last was
	former  time.Time
}

// FormerLeader returns the latest time at which a former leader can have renewed a lease, if this member has seen
// another election since; else zero. Members elect no other leader until they have not heard from theirs for the
// election timeout. The exception is a leader that ends in order and hands over at once: it may have renewed leases for
// that timeout longer. A new leader renews all leases.
func (s *Store) FormerLeader() time.Time {
	return s.elections.see(s.member.Server.Term, s.member.Server.LeaderChangedNotify, time.Now)
}

// see updates the state with the elections since the last call. A member hears of a leader before it applies the first
// write of its term. So the term is read first: an election is never dated by the one before.
func (e *elections) see(term func() uint64, next func() <-chan struct{}, now func() time.Time) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	newest := term()
	select {
	case <-e.changed:
		e.changed = next() // read first, so that any change that it doesn't report was before
		e.heard = now()
	default:
	}
	if newest > e.term {
		e.term = newest
		if !e.heard.IsZero() {
			e.former = e.heard.Add(-peerElectionMs * time.Millisecond)
		}
	}
	return e.former
}

// followElections records the time of each election. It begins when the member knows a leader.
func (s *Store) followElections() {
	e := &s.elections
	e.mu.Lock()
	e.changed = s.member.Server.LeaderChangedNotify()
	e.mu.Unlock()
	for {
		s.FormerLeader()
		e.mu.Lock()
		changed := e.changed
		e.mu.Unlock()
		select {
		case <-s.lifetime.Done():
			return
		case <-changed:
		}
	}
}
