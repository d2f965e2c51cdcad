package local

import (
	"context"
	"log/slog"
	"time"

	"tend.dev/tend/internal/core/liveness"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// hearing holds the last heartbeat that this server got from a node.
type hearing struct {
	// by is the connection of the last heartbeat, which may be closed since.
	by *Control
	// Rhythm says when that came.
	liveness.Rhythm
}

// heard takes note of a heartbeat that comes, whatever becomes of it in the store.
func (s *Service) heard(c *Control) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hears[c.node] = hearing{by: c, Rhythm: s.hears[c.node].Beat(time.Now())}
}

// heartbeat is the value of the node's heartbeat; last is set if two beats are missing since.
func (c *Control) heartbeat(last time.Time) records.Heartbeat {
	return records.Heartbeat{Server: c.Server, Life: c.Life, Last: last}
}

// looksPerBeat counts the looks of Listen within the time between two heartbeats; leastLook is the least time between
// two looks.
const (
	looksPerBeat = 5
	leastLook    = 100 * time.Millisecond
)

// Listen writes into the heartbeat of each node that this server hears when two beats are missing, until ctx ends: new
// pods then go to other nodes, long before the node counts as lost. So it does, some time after it has begun, with the
// nodes of its earlier life that it has not heard since. After this server itself has stood still it looks once less,
// because the beats of that time may be waiting.
func (s *Service) Listen(ctx context.Context) error {
	ticker := time.NewTicker(max(s.Heartbeat/looksPerBeat, leastLook))
	defer ticker.Stop()
	began, awaits := time.Now(), true
	for looked := began; ; looked = time.Now() {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if time.Since(looked) >= s.Heartbeat {
			continue
		}
		s.listen(ctx)
		if awaits && time.Since(began) >= s.grace() {
			awaits = !s.giveUp(ctx)
		}
	}
}

func (s *Service) listen(ctx context.Context) {
	for _, each := range s.silent() {
		if !s.latest(each) { // it came while another one was written
			continue
		}
		within, cancel := context.WithTimeout(ctx, s.Heartbeat)
		if !each.by.miss(within, each.Last) {
			s.forget(each)
		}
		cancel()
	}
}

// silent returns the nodes of which two beats are missing; not this server's own, which would stand still with it.
func (s *Service) silent() (out []hearing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for node, each := range s.hears {
		if node != s.Own && time.Since(each.Last) >= each.Patience(s.Heartbeat, s.Lease/nodeapi.Beats) {
			out = append(out, each)
		}
	}
	return out
}

// latest reports whether no heartbeat has come since one.
func (s *Service) latest(one hearing) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hears[one.by.node] == one
}

// forget forgets a node whose heartbeat is no longer this server's, unless one has come meanwhile.
func (s *Service) forget(of hearing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hears[of.by.node] == of {
		delete(s.hears, of.by.node)
	}
}

// miss writes that two beats are missing since the last one, and reports whether the heartbeat is this server's. It is
// written under the same lease, which it doesn't renew, and on the condition that the key is as this server wrote it:
// meanwhile the node may be connected to another one. The next beat writes the key again. What got no answer is seen by
// then: the key is no longer as it was bound.
func (c *Control) miss(ctx context.Context, last time.Time) bool {
	c.mu.Lock()
	lease, bound, missed := c.lease, c.bound, c.missed
	c.mu.Unlock()
	if lease == 0 || !c.stillBound(bound) {
		return false
	}
	if missed {
		return true
	}
	key := records.AliveKey(c.node)
	revision, err := records.NewTxn("node.unheard").If(key, bound).PutLeased(key, c.heartbeat(last.UTC()), lease).
		Commit(ctx, c.Store)
	if err != nil {
		slog.DebugContext(ctx, "what a node misses can't be written; it is tried again", "node", c.node, "error", err)
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bound == bound {
		c.bound, c.missed = revision, true
	}
	return true
}
