package verbs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// UnknownOutcomeError is the error of a verb whose commit had no answer: it may be stored, or may still be stored
// later.
type UnknownOutcomeError struct {
	// Site names the verb.
	Site string
	// Err is store.ErrUnknownOutcome with its cause.
	Err error
}

func (e *UnknownOutcomeError) Error() string { return e.Err.Error() }

// Unwrap returns the store's error.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// Next returns what to check before the verb is repeated.
func (e *UnknownOutcomeError) Next() string {
	if next, ok := nextCheck[e.Site]; ok {
		return next
	}
	return "check before you repeat: `tend describe` shows the object"
}

// nextCheck says for each verb where its effect shows, and what a repeat does.
var nextCheck = map[string]string{
	"apply":       "apply it again: what is stored already is left as it is",
	"run":         "check before you repeat: `tend runs` lists the run if it began; a repeat with the same Idempotency-Key starts no second one",
	"release.run": "check before you repeat: `tend runs` lists the run if it began; a repeat with the same Idempotency-Key starts no second one",
	"run.stop":    "check before you repeat: `tend runs` shows whether it was stopped",
	"delete":      "check before you repeat: `tend get` lists the object while it is there",
	"config":      "set it again: a value that is stored already is left as it is",
	"scale":       "scale again: a count that is stored already is left as it is",
	"restart":     "check before you repeat: `tend get pods` shows whether pods are being replaced; a repeat replaces them again",
	"reconcile":   "reconcile again: it changes nothing that is declared",
	"rollback":    "check before you repeat: `tend releases` shows the release in force; a repeat may go back further",
	"rebootstrap": "check before you repeat: `tend get pods` shows whether the pod is being replaced; a repeat empties its volumes again",
}

// maxIdempotencyKey bounds the key of a request, in bytes.
const maxIdempotencyKey = 200

type idempotencyKey struct{}

// WithIdempotencyKey returns a context that marks its calls as one request: Run and RunRelease answer a repeat under
// the same key with the run of the first. The key counts as long as the run's record is kept. An empty key changes
// nothing.
func WithIdempotencyKey(ctx context.Context, key string) (context.Context, error) {
	if len(key) > maxIdempotencyKey {
		return ctx, invalid("use a random one of 32 characters", "an idempotency key has at most %d bytes",
			maxIdempotencyKey)
	}
	if key == "" {
		return ctx, nil
	}
	return context.WithValue(ctx, idempotencyKey{}, key), nil
}

// keyedRun derives the id of a run from the key of its request. It reports false if the request has none.
func keyedRun(ctx context.Context) (string, bool) {
	key, ok := ctx.Value(idempotencyKey{}).(string)
	if !ok {
		return "", false
	}
	sum := sha256.Sum256([]byte(key))
	return "m-" + hex.EncodeToString(sum[:8]), true
}
