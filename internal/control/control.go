package control

import (
	"crypto/rand"
	"encoding/hex"
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

// RandomHex is n random bytes in hex.
func RandomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
