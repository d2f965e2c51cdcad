package local

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"tend.dev/tend/internal/core/liveness"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// grace returns how long this server waits for the nodes that it heard before it was started again.
func (s *Service) grace() time.Duration { return liveness.Grace(s.Heartbeat, s.Lease/nodeapi.Beats) }

// giveUp writes into the heartbeats of an earlier life of this server that it has waited for a beat in vain. It reports
// whether all of them are written.
func (s *Service) giveUp(ctx context.Context) bool {
	select {
	case <-s.View.Synced():
	default:
		return false
	}
	snap, all := s.snapshot(), true
	for record := range snap.Prefix(records.AlivePrefix) {
		node := strings.TrimPrefix(record.Key, records.AlivePrefix)
		if s.awaits(snap, node) {
			within, cancel := context.WithTimeout(ctx, s.Heartbeat)
			all = s.vain(within, record.Key, record.Modified) && all
			cancel()
		}
	}
	return all
}

// awaits reports whether this server heard a node in an earlier life, and nothing of it since; not its own, which would
// stand still with it.
func (s *Service) awaits(snap records.Snapshot, node string) bool {
	beat := snap.Heartbeat(node)
	mine := s.Server == "" || beat.Server == s.Server || beat.Server == "" // of the one that was alone
	hearing, _ := liveness.HearingOf(liveness.Beat(beat), s.Life)
	return mine && node != s.Own && hearing == liveness.Awaited
}

// vain marks a heartbeat on the condition that it is as it was read, under the same lease.
func (s *Service) vain(ctx context.Context, key string, read int64) bool {
	stored, err := s.Store.Get(ctx, key)
	if err == nil && stored.Modified == read {
		beat := records.HeartbeatOf(stored.Value)
		beat.Unheard = true
		_, err = records.NewTxn("node.unheard").If(key, read).PutLeased(key, beat, stored.Lease).Commit(ctx, s.Store)
	}
	if err != nil {
		slog.DebugContext(ctx, "that a node was not heard can't be written; it is tried again", "key", key, "error", err)
	}
	return err == nil
}
