package watcher

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/internal/core/watch"
)

// Metrics are the collectors of all watchers, labelled by watcher. docs/operate/metrics.md lists them. A nil *Metrics
// collects nothing.
type Metrics struct {
	iterations *prometheus.CounterVec
	changes    *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	ratio      *prometheus.GaugeVec
	average    *prometheus.GaugeVec

	mu   sync.Mutex
	sums map[string]*sums
}

// sums holds the counts behind a watcher's ratio and average, since the start of the process.
type sums struct {
	polls               int
	took                time.Duration
	compared, unchanged int
}

// NewMetrics returns the collectors after registering them. Those of the named watchers are 0 from the beginning. It
// panics if the registry already has them.
func NewMetrics(registry prometheus.Registerer, watchers ...string) *Metrics {
	m := &Metrics{
		iterations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tend_watch_loop_iterations_total", Help: "Polls that ended, well or not.",
		}, []string{"watcher"}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tend_changes_detected_total", Help: "Changes that polls found.",
		}, []string{"watcher", "type"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "tend_watch_poll_duration_seconds",
			Help:    "Time a listing took.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10), // 1 ms to 262 s
		}, []string{"watcher"}),
		ratio: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tend_cache_hit_ratio",
			Help: "Objects that polls found unchanged, of all they compared, since the process began.",
		}, []string{"watcher"}),
		average: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tend_average_poll_duration", Help: "Mean time of a listing in seconds, since the process began.",
		}, []string{"watcher"}),
		sums: map[string]*sums{},
	}
	for _, name := range watchers {
		m.begin(name)
	}
	registry.MustRegister(m.iterations, m.changes, m.duration, m.ratio, m.average)
	return m
}

// begin makes the metrics of a watcher that has not polled yet.
func (m *Metrics) begin(name string) {
	m.iterations.WithLabelValues(name)
	m.duration.WithLabelValues(name)
	m.ratio.WithLabelValues(name)
	m.average.WithLabelValues(name)
	for _, change := range []watch.Type{watch.Created, watch.Updated, watch.Deleted, watch.StatusUpdated} {
		m.changes.WithLabelValues(name, string(change))
	}
}

func (m *Metrics) polled(name string, took time.Duration) {
	if m == nil {
		return
	}
	m.iterations.WithLabelValues(name).Inc()
	m.duration.WithLabelValues(name).Observe(took.Seconds())
	m.update(name, func(s *sums) { s.polls++; s.took += took })
}

func (m *Metrics) compared(name string, compared, changed int) {
	if m != nil {
		m.update(name, func(s *sums) { s.compared += compared; s.unchanged += compared - changed })
	}
}

func (m *Metrics) detected(name string, change watch.Type) {
	if m != nil {
		m.changes.WithLabelValues(name, string(change)).Inc()
	}
}

// update changes the sums of a watcher, and the gauges made from them.
func (m *Metrics) update(name string, change func(*sums)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sums[name]
	if s == nil {
		s = &sums{}
		m.sums[name] = s
	}
	change(s)
	m.average.WithLabelValues(name).Set(s.took.Seconds() / float64(max(s.polls, 1)))
	if s.compared > 0 {
		m.ratio.WithLabelValues(name).Set(float64(s.unchanged) / float64(s.compared))
	}
}
