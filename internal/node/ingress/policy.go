package ingress

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/relay"
)

// The policies of IngressLB.Policy.
const (
	PolicyRoundRobin = "round_robin"
	PolicyRandom     = "random"
	PolicyLeastConn  = "least_conn"
	PolicyIPHash     = "ip_hash"
)

// backend is a route of one table with the states of its pods.
type backend struct {
	*Route
	pods   []*pod
	series *series
	// turn is the position of the round-robin, kept from table to table.
	turn *atomic.Uint64
}

// failed records that a pod didn't answer a request, so that the next request goes to another one.
func (b *backend) failed(p *pod, now time.Time) {
	p.failed(now)
	b.series.failures.Inc()
}

// choose picks the pod for a request of a client, but none of those already tried. It picks a pod whose connections
// fail only if there is no other: a pod that may answer is better than an error.
func (b *backend) choose(client string, tried []*pod, now time.Time) *pod {
	if len(b.pods) == 1 && len(tried) == 0 {
		return b.pods[0]
	}
	var room [16]*pod
	candidates, ejected := room[:0], []*pod(nil)
	for _, p := range b.pods {
		switch {
		case slices.Contains(tried, p):
		case p.ejected(now):
			ejected = append(ejected, p)
		default:
			candidates = append(candidates, p)
		}
	}
	if len(candidates) == 0 {
		candidates = ejected
	}
	if b.Listen != (api.Listen{}) {
		candidates = nearest(candidates)
	}
	switch {
	case len(candidates) == 0:
		return nil
	case len(candidates) == 1:
		return candidates[0]
	}
	switch b.Policy {
	case PolicyRandom:
		return candidates[rand.IntN(len(candidates))]
	case PolicyLeastConn:
		return leastConn(candidates)
	case PolicyIPHash:
		return rendezvous(candidates, client)
	}
	return candidates[(b.turn.Add(1)-1)%uint64(len(candidates))]
}

// nearest returns the pods of this node, or all if it has none: traffic of a port goes to another node only then.
func nearest(candidates []*pod) []*pod {
	var room [16]*pod
	own := room[:0]
	for _, p := range candidates {
		if p.Via == (relay.Target{}) {
			own = append(own, p)
		}
	}
	if len(own) == 0 {
		return candidates
	}
	return own
}

// leastConn returns the pod with the fewest requests; of equals, any.
func leastConn(candidates []*pod) *pod {
	start := rand.IntN(len(candidates))
	best := candidates[start]
	for i := range candidates {
		if p := candidates[(start+i)%len(candidates)]; p.active.Load() < best.active.Load() {
			best = p
		}
	}
	return best
}

// rendezvous maps every client to one pod; when a pod is removed, only its own clients move.
func rendezvous(candidates []*pod, client string) *pod {
	var best *pod
	var highest uint64
	for _, p := range candidates {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(client))
		_, _ = hash.Write([]byte{0})
		_, _ = hash.Write([]byte(p.Name))
		if weight := mix(hash.Sum64()); best == nil || weight > highest {
			best, highest = p, weight
		}
	}
	return best
}

// mix spreads a hash over all its bits (the finalizer of SplitMix64): FNV's high bits follow its last input too
// closely.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
