package rotation

import (
	"context"
	"maps"
	"reflect"
	"time"

	"tend.dev/tend/internal/records"
)

// LookEvery is the interval between two looks at what is to be done.
const LookEvery = 2 * time.Second

// Follow does this server's part of every rotation, until ctx ends.
func (s *Service) Follow(ctx context.Context) error {
	ticker := time.NewTicker(LookEvery)
	defer ticker.Stop()
	for {
		if err := s.FollowOnce(ctx); err != nil && ctx.Err() == nil {
			s.Logger.WarnContext(ctx, "a key could not be followed; it is tried again", "backoff", LookEvery, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// FollowOnce does what is to be done now.
func (s *Service) FollowOnce(ctx context.Context) error {
	snap, said := s.Snapshot(), records.Holdings{}
	for _, key := range s.Keys {
		info := key.Info(snap)
		if info.Fingerprint == "" {
			continue
		}
		holding, err := key.Follow(snap, snap.Rotation(info.Name).Value)
		if err != nil {
			return err
		}
		said[info.Name] = holding
	}
	stored := snap.Holdings()[s.Server]
	if s.said == nil {
		s.said = stored
	}
	if reflect.DeepEqual(said, s.said) && stored != nil {
		return nil
	}
	if _, err := records.NewTxn("key.hold").Put(records.HoldingsKey(s.Server), said).Commit(ctx, s.Store); err != nil {
		return err
	}
	s.said = maps.Clone(said)
	return nil
}
