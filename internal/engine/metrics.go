package engine

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// How a reconcile ended, as a label of the metrics.
const (
	resultSuccessful = "successful"
	resultRequeued   = "requeued"
	resultFailed     = "failed"
	resultTerminal   = "terminal"
)

// Metrics are the engine's collectors, shared by all controllers and labelled by kind. docs/metrics.md lists them.
// A nil *Metrics collects nothing.
type Metrics struct {
	duration   *prometheus.HistogramVec
	cycles     *prometheus.CounterVec
	total      *prometheus.CounterVec
	successful *prometheus.CounterVec
	failed     *prometheus.CounterVec
	requeued   *prometheus.CounterVec
	panics     *prometheus.CounterVec
	gauges     *gauges
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
		cycles:     counter("tend_reconciliation_cycles_total", "Passes over the whole view (resync)."),
		total:      counter("tend_reconciliations_total", "Reconciles that ended."),
		successful: counter("tend_reconciliations_successful_total", "Reconciles that ended well and asked for nothing more."),
		failed:     counter("tend_reconciliations_failed_total", "Reconciles that failed, terminally or not."),
		requeued:   counter("tend_reconciliations_requeued_total", "Reconciles that ended well and asked to be requeued."),
		panics:     counter("tend_reconcile_panics_total", "Reconciles that panicked; they count as failed too."),
		gauges:     newGauges(),
	}
	registry.MustRegister(m.duration, m.cycles, m.total, m.successful, m.failed, m.requeued, m.panics, m.gauges)
	return m
}

// meter is one controller's share of the Metrics. A nil one counts nothing.
type meter struct {
	duration                                            map[string]prometheus.Observer
	cycles, total, successful, failed, requeued, panics prometheus.Counter
}

func (m *Metrics) meter(kind string, counts func() (depth, rest int)) *meter {
	if m == nil {
		return nil
	}
	m.gauges.add(kind, counts)
	duration := map[string]prometheus.Observer{}
	for _, result := range []string{resultSuccessful, resultRequeued, resultFailed, resultTerminal} {
		duration[result] = m.duration.WithLabelValues(kind, result)
	}
	return &meter{
		duration:   duration,
		cycles:     m.cycles.WithLabelValues(kind),
		total:      m.total.WithLabelValues(kind),
		successful: m.successful.WithLabelValues(kind),
		failed:     m.failed.WithLabelValues(kind),
		requeued:   m.requeued.WithLabelValues(kind),
		panics:     m.panics.WithLabelValues(kind),
	}
}

func (m *meter) cycle() {
	if m != nil {
		m.cycles.Inc()
	}
}

func (m *meter) observe(out outcome) {
	if m == nil {
		return
	}
	var result string
	switch {
	case IsTerminal(out.err):
		result = resultTerminal
		m.failed.Inc()
	case out.err != nil:
		result = resultFailed
		m.failed.Inc()
	case out.result.After > 0:
		result = resultRequeued
		m.requeued.Inc()
	default:
		result = resultSuccessful
		m.successful.Inc()
	}
	var panicked *PanicError
	if errors.As(out.err, &panicked) {
		m.panics.Inc()
	}
	m.total.Inc()
	m.duration[result].Observe(out.took.Seconds())
}

// gauges reads the controllers when it is scraped: keeping them up to date would cost every enqueue.
type gauges struct {
	depth, rest *prometheus.Desc
	mu          sync.Mutex
	kinds       map[string]func() (depth, rest int)
}

func newGauges() *gauges {
	return &gauges{
		depth: prometheus.NewDesc("tend_queue_depth", "Keys that wait for a worker.", []string{"kind"}, nil),
		rest:  prometheus.NewDesc("tend_resting_keys", "Keys that failed too often or terminally.", []string{"kind"}, nil),
		kinds: map[string]func() (int, int){},
	}
}

// add makes a controller's counts visible; a later one of the same kind replaces the former.
func (g *gauges) add(kind string, counts func() (depth, rest int)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kinds[kind] = counts
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	out <- g.depth
	out <- g.rest
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for kind, counts := range g.kinds {
		depth, rest := counts()
		out <- prometheus.MustNewConstMetric(g.depth, prometheus.GaugeValue, float64(depth), kind)
		out <- prometheus.MustNewConstMetric(g.rest, prometheus.GaugeValue, float64(rest), kind)
	}
}
