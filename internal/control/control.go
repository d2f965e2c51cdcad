package control

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/store/records"
)

// Sealer encrypts what must not lie in the store in the clear, and computes keyed hashes of it.
type Sealer interface {
	Encrypt(plain []byte) ([]byte, error)
	Decrypt(sealed []byte) ([]byte, error)
	HMAC(data []byte) string
}

// Deps are the dependencies of every controller.
type Deps struct {
	// Snapshot returns the newest snapshot of the store.
	Snapshot func() records.Snapshot
	// Store takes commits; the server fences them by its election.
	Store records.Committer
	// Sealer encrypts environments.
	Sealer Sealer
	// Board knows where tasks are, and may be. Default one of its own.
	Board *board.Board
	// Changes names the fields in which a release differs from the one before. Default: a release records none.
	Changes func(before, after api.Release) []string
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// NewSlot draws a fresh slot id: 8 hex digits. Default random.
	NewSlot func() string
	// NewTask draws a fresh task id. Default 16 random hex digits.
	NewTask func() string
	Logger  *slog.Logger
}

// Defaults returns d with the defaults of the fields that were left out.
func (d Deps) Defaults() Deps {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.NewSlot == nil {
		d.NewSlot = func() string { return RandomHex(4) }
	}
	if d.NewTask == nil {
		d.NewTask = func() string { return RandomHex(8) }
	}
	if d.Board == nil {
		d.Board = board.New()
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}

// Commit commits a transaction and guards it by a key, usually the status of the object it is about. A commit that got
// no answer may still be applied at any later time, next to the commit of the next reconcile, which did not see it; the
// guard makes one of the two conflict. An empty transaction writes nothing and returns 0.
func (d Deps) Commit(ctx context.Context, txn *records.Txn, guard string) (int64, error) {
	if !txn.Empty() && !txn.Guards(guard) {
		return 0, fmt.Errorf("a commit must compare and write %s", guard)
	}
	if tracing.Traced(ctx) {
		txn.Trace(tracing.Record(ctx, d.Now()))
	}
	return txn.Commit(ctx, d.Store)
}

// RandomHex returns n random bytes in hex.
func RandomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
