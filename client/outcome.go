package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"tend.dev/tend/api"
)

// IsUnknownOutcome reports whether a change may have been stored although the call failed: the store did not answer the
// server in time, or the connection was cut before the server answered.
func IsUnknownOutcome(err error) bool {
	var problem *api.Problem
	var unreachable *UnreachableError
	return errors.As(err, &problem) && problem.Title == api.OutcomeUnknown ||
		errors.As(err, &unreachable) && unreachable.Sent
}

type idempotencyKey struct{}

// WithIdempotencyKey sends key with the calls made within ctx. A repeated Run under the same key starts no second run:
// it returns the first, as long as the record of that is kept. An apply needs no key, because repeating it changes
// nothing.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

// NewIdempotencyKey draws a key of 32 random characters.
func NewIdempotencyKey() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}

// repeatEvery is the pause before a repeat.
const repeatEvery = time.Second

// Repeat calls until the outcome is known, each time under the same idempotency key, for at most patience. Use it for
// calls that may be repeated: Run, RunRelease and Apply. If no outcome became known, it returns the first error.
func Repeat[Out any](
	ctx context.Context, patience time.Duration, call func(ctx context.Context) (Out, error),
) (Out, error) {
	ctx = WithIdempotencyKey(ctx, NewIdempotencyKey())
	out, unknown := call(ctx)
	if !IsUnknownOutcome(unknown) {
		return out, unknown
	}
	over := time.NewTimer(patience)
	defer over.Stop()
	again := time.NewTicker(repeatEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return out, unknown
		case <-over.C:
			return out, unknown
		case <-again.C:
		}
		// The error of a server that restarts, or whose store still stalls, doesn't tell the outcome of the first call.
		var unreachable *UnreachableError
		known, err := call(ctx)
		if err == nil || !errors.As(err, &unreachable) && StatusOf(err) < http.StatusInternalServerError && ctx.Err() == nil {
			return known, err
		}
	}
}
