package reconciler

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/internal/platform/recovery"
)

// How a reconcile ended, as a label of the metrics.
const (
	resultSuccessful = "successful"
	resultRequeued   = "requeued"
	resultFailed     = "failed"
	resultTerminal   = "terminal"
)

// Metrics are the queue's collectors, shared by all controllers and labelled by kind. docs/operate/metrics.md lists
// them. A nil *Metrics collects nothing.
type Metrics struct {
	duration *prometheus.HistogramVec
	loop     *prometheus.HistogramVec
	cycles   *prometheus.CounterVec
	panics   *prometheus.CounterVec
	kinds    *kinds
}

// NewMetrics returns the collectors after registering them. It panics if the registry already has them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"kind"})
	}
	m := &Metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "tend_reconciliation_duration_seconds",
			Help:    "Time one reconcile took.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10), // 0.5 ms to 131 s
		}, []string{"kind", "result"}),
		loop: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "tend_scheduler_loop_duration_seconds",
			Help:    "Time of a pass over the view that looks for what is to be done and was not noticed.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 8), // 0.5 ms to 8 s
		}, []string{"kind"}),
		cycles: counter("tend_reconciliation_cycles_total", "Passes over the whole view (resync)."),
		panics: counter("tend_reconcile_panics_total", "Reconciles that panicked; they count as failed too."),
		kinds:  newKinds(),
	}
	registry.MustRegister(m.duration, m.loop, m.cycles, m.panics, m.kinds)
	return m
}

// meter is one controller's share of the Metrics. A nil one counts nothing.
type meter struct {
	duration       map[string]prometheus.Observer
	cycles, panics prometheus.Counter
	loop           prometheus.Observer
	tally          *tally
	passes         *passes
}

func (m *Metrics) meter(kind string, queue func() queueState) *meter {
	if m == nil {
		return nil
	}
	duration := map[string]prometheus.Observer{}
	for _, result := range []string{resultSuccessful, resultRequeued, resultFailed, resultTerminal} {
		duration[result] = m.duration.WithLabelValues(kind, result)
	}
	out := &meter{
		duration: duration,
		cycles:   m.cycles.WithLabelValues(kind),
		panics:   m.panics.WithLabelValues(kind),
		loop:     m.loop.WithLabelValues(kind),
	}
	out.tally, out.passes = m.kinds.add(kind, queue)
	return out
}

// cycle counts a pass over the view that found a number of keys.
func (m *meter) cycle(found int, took time.Duration) {
	if m == nil {
		return
	}
	m.cycles.Inc()
	m.loop.Observe(took.Seconds())
	m.passes.add(found, took)
}

func (m *meter) observe(out outcome) {
	if m == nil {
		return
	}
	var result string
	switch {
	case IsTerminal(out.err):
		result = resultTerminal
	case out.err != nil:
		result = resultFailed
	case out.result.After > 0:
		result = resultRequeued
	default:
		result = resultSuccessful
	}
	if _, ok := errors.AsType[*recovery.PanicError](out.err); ok {
		m.panics.Inc()
	}
	m.duration[result].Observe(out.took.Seconds())
	m.tally.add(result, out.took)
}
