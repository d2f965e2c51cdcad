package etcd

import (
	"testing"
	"time"
)

// TestAnElectionIsDatedByItsOwnLeader: a member that has applied a leader's first write knows the leader, though the
// change was not processed yet; and it may have lost and found the leader before without an election.
func TestAnElectionIsDatedByItsOwnLeader(t *testing.T) {
	const election = peerElectionMs * time.Millisecond
	begin := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	now, term := begin, uint64(7)
	heard := make(chan struct{})
	next := func() <-chan struct{} { return heard }
	hear := func() {
		closed := heard
		heard = make(chan struct{})
		close(closed)
	}
	e := elections{changed: heard}
	see := func() time.Time { return e.see(func() uint64 { return term }, next, func() time.Time { return now }) }
	expect := func(what string, want time.Time) {
		t.Helper()
		if got := see(); !got.Equal(want) {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	expect("no election yet", time.Time{})
	now = begin.Add(time.Minute)
	hear()
	expect("the leader was lost and found", time.Time{})
	now, term = begin.Add(2*time.Minute), 8
	hear()
	expect("an election that nothing took note of", now.Add(-election))
	now = begin.Add(3 * time.Minute)
	hear()
	expect("the next leader is known, its write is not applied", begin.Add(2*time.Minute-election))
	term = 9
	now = begin.Add(3*time.Minute + time.Second)
	expect("its write is applied later", begin.Add(3*time.Minute-election))
	now = begin.Add(4 * time.Minute)
	expect("nothing happened", begin.Add(3*time.Minute-election))
}
