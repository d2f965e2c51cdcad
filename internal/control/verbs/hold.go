package verbs

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// Leases are the part of a store that makes keys expire.
type Leases interface {
	Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error)
	Revoke(ctx context.Context, id store.LeaseID) error
}

// revokeTime bounds the end of a hold.
const revokeTime = 5 * time.Second

// Hold marks objects by their names, whatever their kind: a pod of theirs that is stopped or removed by hand stays so
// until release is called. When Hold returns, the agent knows. If the server dies, the marks expire after longest.
func (s *Service) Hold(
	ctx context.Context, names []Bucket, record api.Hold, longest time.Duration,
) (release func(), err error) {
	if s.opts.Leases == nil || len(names) == 0 {
		return func() {}, nil
	}
	lease, err := s.opts.Leases.Grant(ctx, longest)
	if err != nil {
		return nil, fmt.Errorf("hold what the command works on: %w", err)
	}
	release = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeTime)
		defer cancel()
		if err := s.opts.Leases.Revoke(ctx, lease); err != nil {
			s.opts.Logger.WarnContext(ctx, "a plugin's command has ended; its pods are healed again later", "backoff",
				longest, "error", err)
		}
	}
	record.At = s.opts.Now()
	txn := records.NewTxn("hold")
	for _, name := range names {
		txn.PutLeased(records.HoldKey(name.Scope, name.Name, strconv.FormatInt(int64(lease), 16)), record, lease)
	}
	if _, err = txn.Commit(ctx, s.opts.Store); err == nil {
		_, err = s.opts.Reader.Fresh(ctx)
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("hold what the command works on: %w", err)
	}
	return release, nil
}
