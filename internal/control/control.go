package control

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"tend.dev/tend/internal/layout"
)

// Sealer encrypts what must not lie in the store in the clear, and hashes it under a key.
type Sealer interface {
	Encrypt(plain []byte) ([]byte, error)
	Decrypt(sealed []byte) ([]byte, error)
	HMAC(data []byte) string
}

// Deps are what every controller works with.
type Deps struct {
	// Snapshot is the newest picture of the store.
	Snapshot func() layout.Snapshot
	// Store takes commits; the server fences it by its election.
	Store layout.Committer
	// Sealer keeps environments.
	Sealer Sealer
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// NewSlot draws a fresh slot id: 8 hex digits. Default random.
	NewSlot func() string
	// NewTask draws a task id. Default 16 random hex digits.
	NewTask func() string
	Logger  *slog.Logger
}

// Defaults fills in what was left out.
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
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}

// Commit commits a transaction that guards a key, as a rule the status of the object it is about. A commit without an
// answer may be applied at any later time, beside the commit of the next reconcile, which didn't see it; the guard makes
// one of the two conflict. An empty transaction writes nothing and returns 0.
func (d Deps) Commit(ctx context.Context, txn *layout.Txn, guard string) (int64, error) {
	if !txn.Empty() && !txn.Guards(guard) {
		return 0, fmt.Errorf("a commit must compare and write %s", guard)
	}
	return txn.Commit(ctx, d.Store)
}

// RandomHex is n random bytes in hex.
func RandomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
