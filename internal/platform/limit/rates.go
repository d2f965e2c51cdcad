package limit

import (
	"sync"
	"time"
)

// maxBuckets bounds the keys that Rates remember.
const maxBuckets = 4096

// Rates limit each key by a token bucket: it holds burst tokens, and gets rate new ones a second.
type Rates struct {
	rate, burst float64
	now         func() time.Time

	mu sync.Mutex
	of map[string]*bucket
}

// NewRates returns Rates with full buckets.
func NewRates(rate, burst float64, now func() time.Time) *Rates {
	return &Rates{rate: rate, burst: burst, now: now, of: map[string]*bucket{}}
}

// Ask takes one token and returns 0. If there is none, it returns the time until the next one.
func (r *Rates) Ask(key string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.bucket(key)
	wait := b.wait(r.rate)
	if wait == 0 {
		b.left--
	}
	return wait
}

// Take takes n tokens, also more than there are: the key then waits longer.
func (r *Rates) Take(key string, n float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bucket(key).left -= n
}

// Wait returns the time until the key has a token; 0 if it has one.
func (r *Rates) Wait(key string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[key] == nil {
		return 0
	}
	return r.bucket(key).wait(r.rate)
}

// bucket returns the bucket of a key, refilled up to now.
func (r *Rates) bucket(key string) *bucket {
	now, b := r.now(), r.of[key]
	if b == nil {
		if len(r.of) >= maxBuckets {
			clear(r.of) // cheaper than tracking which bucket is the oldest
		}
		b = &bucket{left: r.burst, at: now}
		r.of[key] = b
	}
	b.left = min(r.burst, b.left+max(now.Sub(b.at), 0).Seconds()*r.rate)
	b.at = now
	return b
}

// bucket holds the remaining tokens of a key.
type bucket struct {
	left float64
	at   time.Time
}

func (b *bucket) wait(rate float64) time.Duration {
	if b.left >= 1 {
		return 0
	}
	return max(time.Duration((1-b.left)/rate*float64(time.Second)), time.Second)
}
