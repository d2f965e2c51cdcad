package puller

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// The bounds of a backoff.
const (
	firstBackoff = time.Second
	lastBackoff  = time.Minute
)

// The errors that end a puller. It starts again once its credentials change.
var (
	// ErrUnauthorized means that the credential was refused and no other one is stored.
	ErrUnauthorized = errors.New("the control plane refuses the credential: register again")
	// ErrForbidden means that the credential belongs to another cluster.
	ErrForbidden = errors.New("the control plane refuses the cluster")
)

// backoff computes the wait after consecutive failures.
type backoff struct {
	failures int
	// jitter returns a number from 0 to below 1.
	jitter func() float64
}

func newBackoff(jitter func() float64) *backoff {
	if jitter == nil {
		jitter = rand.Float64
	}
	return &backoff{jitter: jitter}
}

func (b *backoff) reset() { b.failures = 0 }

// after returns the wait after an error: what the server asks for, or else twice the previous wait, with jitter.
func (b *backoff) after(err error) time.Duration {
	wait := firstBackoff
	for range min(b.failures, 10) {
		wait = min(2*wait, lastBackoff)
	}
	b.failures++
	var answered *StatusError
	if errors.As(err, &answered) && answered.RetryAfter > 0 {
		return answered.RetryAfter
	}
	return wait + time.Duration(float64(wait)*b.jitter()/2)
}

// passes reports whether repeating a request may help: it got no answer, or one that asks for a retry.
func passes(err error) bool {
	status := statusOf(err)
	return status == 0 || status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}
