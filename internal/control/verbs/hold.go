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

// The times of a hold. A plugin's call waits a minute for its turn and runs for another, so the lease ends later than
// that, and only if no server was left to revoke it.
const (
	holdTime   = 3 * time.Minute
	revokeTime = 5 * time.Second
)

// Hold marks objects by their names, whatever their kind: a pod of theirs that is stopped or removed by hand stays so
// until release is called. When Hold returns, the agent knows. If the server dies, the marks expire with their lease.
func (s *Service) Hold(ctx context.Context, names []Bucket, record api.Hold) (release func(), err error) {
	if s.opts.Leases == nil || len(names) == 0 {
		return func() {}, nil
	}
	lease, err := s.opts.Leases.Grant(ctx, holdTime)
	if err != nil {
		return nil, fmt.Errorf("hold what the command works on: %w", err)
	}
	release = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeTime)
		defer cancel()
		if err := s.opts.Leases.Revoke(ctx, lease); err != nil {
			s.opts.Logger.WarnContext(ctx, "a plugin's command has ended; its pods are healed again later", "backoff",
				holdTime, "error", err)
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
