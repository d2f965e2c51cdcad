package clusterapi

import (
	"sync"
	"time"
)

// The limits of requests, each server's own: of a cluster a second, and of an address with wrong tokens.
const (
	clusterRate, clusterBurst = 50.0, 200.0
	refusedRate, refusedBurst = 0.2, 20.0
	maxBuckets                = 4096
)

// limits keeps clusters and addresses from asking too often.
type limits struct {
	now func() time.Time

	mu       sync.Mutex
	clusters map[string]*bucket
	refusals map[string]*bucket
}

func newLimits(now func() time.Time) *limits {
	return &limits{now: now, clusters: map[string]*bucket{}, refusals: map[string]*bucket{}}
}

// busy counts a request of a cluster, and returns how long it is to wait; 0 if it may be answered.
func (l *limits) busy(name string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bucket(l.clusters, name, clusterBurst).take(l.now(), clusterRate, clusterBurst)
}

// refuse counts a request of an address with a wrong token.
func (l *limits) refuse(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bucket(l.refusals, address, refusedBurst).take(l.now(), refusedRate, refusedBurst)
}

// refused returns how long an address is to wait, after too many wrong tokens.
func (l *limits) refused(address string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.refusals[address]
	if !known {
		return 0
	}
	b.fill(l.now(), refusedRate, refusedBurst)
	return b.wait(refusedRate)
}

func (l *limits) bucket(of map[string]*bucket, name string, burst float64) *bucket {
	b := of[name]
	if b == nil {
		if len(of) >= maxBuckets {
			clear(of) // forgetting all of them costs less than keeping an order
		}
		b = &bucket{tokens: burst, at: l.now()}
		of[name] = b
	}
	return b
}

// bucket holds what is left of a limit.
type bucket struct {
	tokens float64
	at     time.Time
}

func (b *bucket) fill(now time.Time, rate, burst float64) {
	b.tokens = min(burst, b.tokens+max(now.Sub(b.at), 0).Seconds()*rate)
	b.at = now
}

// wait returns how long it takes until one may be taken.
func (b *bucket) wait(rate float64) time.Duration {
	if b.tokens >= 1 {
		return 0
	}
	return max(time.Duration((1-b.tokens)/rate*float64(time.Second)), time.Second)
}

func (b *bucket) take(now time.Time, rate, burst float64) time.Duration {
	b.fill(now, rate, burst)
	wait := b.wait(rate)
	if wait == 0 {
		b.tokens--
	}
	return wait
}
