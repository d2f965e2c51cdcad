package rotation

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"tend.dev/tend/internal/store/records"
)

// LookEvery is the interval at which a server checks the rotations.
const LookEvery = 2 * time.Second

// Follow does this server's part of every rotation, until ctx ends.
func (s *Service) Follow(ctx context.Context) error {
	ticker := time.NewTicker(LookEvery)
	defer ticker.Stop()
	for {
		if err := s.FollowOnce(ctx); err != nil && ctx.Err() == nil {
			s.Logger.WarnContext(ctx, "this server could not do its part of a key's rotation; retrying", "backoff", LookEvery, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// FollowOnce does this server's due part of every rotation. An error in one doesn't stop the others.
func (s *Service) FollowOnce(ctx context.Context) error {
	snap, said := s.Snapshot(), records.Holdings{}
	var faults []error
	for _, key := range s.Keys {
		info := key.Info(snap)
		if info.Fingerprint == "" {
			continue
		}
		holding, err := key.Follow(snap, snap.Rotation(info.Name).Value)
		if err != nil {
			faults = append(faults, fmt.Errorf("the key %s: %w", info.Name, err))
		}
		said[info.Name] = holding
	}
	if !reflect.DeepEqual(said, snap.Holdings()[s.Server]) {
		_, err := records.NewTxn("key.hold").Put(records.HoldingsKey(s.Server), said).Commit(ctx, s.Store)
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}
