package etcd

import (
	"sync"
	"time"
)

// elections are what a member has seen of them.
type elections struct {
	mu     sync.Mutex
	term   uint64    // of the newest write that was applied; each election begins another one
	heard  time.Time // when the member last heard of a leader, after it knew of none
	former time.Time
}

// FormerLeader returns the latest time at which a former leader can have renewed a lease, if the members have elected
// another one since, as this member has seen; zero if they have not. Members elect no other leader before they have not
// heard of theirs for the election's time. The exception is a leader that ends in order and hands over at once: it can
// have renewed leases for that time longer. A leader that is elected renews all leases.
func (s *Store) FormerLeader() time.Time {
	e := &s.elections
	e.mu.Lock()
	defer e.mu.Unlock()
	if term := s.member.Server.Term(); term != e.term {
		e.term = term
		if !e.heard.IsZero() {
			e.former = e.heard.Add(-peerElectionMs * time.Millisecond)
		}
	}
	return e.former
}

// followElections takes note of leaders. It begins when the member knows of one.
func (s *Store) followElections() {
	for {
		changed := s.member.Server.LeaderChangedNotify()
		s.FormerLeader() // the election before
		select {
		case <-s.lifetime.Done():
			return
		case <-changed:
			s.elections.mu.Lock()
			s.elections.heard = time.Now()
			s.elections.mu.Unlock()
		}
	}
}
