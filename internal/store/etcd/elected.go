package etcd

import (
	"sync"
	"time"
)

// elections records the last elections that a member has seen.
type elections struct {
	mu      sync.Mutex
	term    uint64          // of the newest write that was applied; each election begins another one
	changed <-chan struct{} // is closed when the member hears of a leader after it knew of none; nil before it knows one
	heard   time.Time       // when it last was
	former  time.Time
}

// FormerLeader returns the latest time at which a former leader can have renewed a lease, if the members have elected
// another one since, as this member has seen; zero if they have not. Members elect no other leader before they have not
// heard of theirs for the election's time. The exception is a leader that ends in order and hands over at once: it can
// have renewed leases for that time longer. A leader that is elected renews all leases.
func (s *Store) FormerLeader() time.Time {
	return s.elections.see(s.member.Server.Term, s.member.Server.LeaderChangedNotify, time.Now)
}

// see reads what has happened since it was last called. A member hears of a leader before it applies the first write of
// its term. So the term is read first: an election is never dated by the one before.
func (e *elections) see(term func() uint64, next func() <-chan struct{}, now func() time.Time) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	newest := term()
	select {
	case <-e.changed:
		e.changed = next() // first, so that what it doesn't report was before
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

// followElections takes note of leaders when they are elected. It begins when the member knows of one.
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
