package clusterapi

import (
	"time"

	"tend.dev/tend/internal/platform/limit"
)

// The limits of requests, each server's own: of a cluster a second, and of an address with wrong tokens.
const (
	clusterRate, clusterBurst = 50.0, 200.0
	refusedRate, refusedBurst = 0.2, 20.0
)

// limits keeps clusters and addresses from asking too often.
type limits struct{ clusters, refusals *limit.Rates }

func newLimits(now func() time.Time) *limits {
	return &limits{clusters: limit.NewRates(clusterRate, clusterBurst, now),
		refusals: limit.NewRates(refusedRate, refusedBurst, now)}
}

// busy counts a request of a cluster, and returns how long it is to wait; 0 if it may be answered.
func (l *limits) busy(name string) time.Duration { return l.clusters.Ask(name) }

// refuse counts a request of an address with a wrong token.
func (l *limits) refuse(address string) { l.refusals.Ask(address) }

// refused returns how long an address is to wait, after too many wrong tokens.
func (l *limits) refused(address string) time.Duration { return l.refusals.Wait(address) }
