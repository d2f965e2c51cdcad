package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Events counts published events. Create it with NewEvents.
type Events struct{ published prometheus.Counter }

// NewEvents registers the metrics of events.
func NewEvents(registry prometheus.Registerer) *Events {
	e := &Events{prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tend_events_published_total", Help: "Events that became part of the event log.",
	})}
	registry.MustRegister(e.published)
	return e
}

// Published counts n events that were added to the log.
func (e *Events) Published(n int) { e.published.Add(float64(n)) }
