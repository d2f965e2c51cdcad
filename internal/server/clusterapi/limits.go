package clusterapi

import (
	"time"

	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/platform/limit"
)

// The limits of requests, counted by each server: requests of a cluster per second, requests with events, and requests
// of an address with wrong tokens. Events count separately, so that many jobs at once don't delay a cluster's report
// of a failure.
const (
	clusterRate, clusterBurst = 50.0, 200.0
	eventRate, eventBurst     = 10.0, 50.0
	refusedRate, refusedBurst = 0.2, 20.0
)

// limits bounds the rate of requests of clusters and addresses.
type limits struct{ clusters, events, refusals *limit.Rates }

func newLimits(now func() time.Time) *limits {
	return &limits{
		clusters: limit.NewRates(clusterRate, clusterBurst, now), events: limit.NewRates(eventRate, eventBurst, now),
		refusals: limit.NewRates(refusedRate, refusedBurst, now),
	}
}

// busy counts a request of a cluster for a path, and returns the time that it must wait; 0 if it may be answered.
func (l *limits) busy(name, path string) time.Duration {
	if path == pull.EventsPath {
		return l.events.Ask(name)
	}
	return l.clusters.Ask(name)
}

// refuse counts a request of an address with a wrong token.
func (l *limits) refuse(address string) { l.refusals.Ask(address) }

// refused returns the time an address has to wait after too many wrong tokens.
func (l *limits) refused(address string) time.Duration { return l.refusals.Wait(address) }
