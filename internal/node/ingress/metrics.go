package ingress

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count by ingress, never by host or path, because clients choose those.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	active   *prometheus.GaugeVec
	failures *prometheus.CounterVec
	// connections counts the connections of ports.
	connections *prometheus.CounterVec

	mu    sync.Mutex
	known map[string]*series // by ingress
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		known: map[string]*series{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tend_ingress_requests_total",
			Help: "Requests answered, by ingress and status code. No ingress: no ingress serves the host.",
		}, []string{"ingress", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tend_ingress_request_duration_seconds", Help: "Time from a request's head to its answer's end.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"ingress"}),
		active: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tend_ingress_requests_active", Help: "Requests under way, and connections and UDP clients of ports.",
		}, []string{"ingress"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tend_ingress_pod_failures_total", Help: "Tries that reached no pod, or ended before an answer began.",
		}, []string{"ingress"}),
		connections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tend_ingress_connections_total",
			Help: "Connections and UDP clients of ports that have ended, by ingress and result: passed or failed.",
		}, []string{"ingress", "result"}),
	}
	if registry != nil {
		registry.MustRegister(m.requests, m.duration, m.active, m.failures, m.connections)
	}
	return m
}

// series are the metrics of one ingress. They are found once, not for each request.
type series struct {
	all      *metrics
	ingress  string
	active   prometheus.Gauge
	duration prometheus.Observer
	failures prometheus.Counter
	held     atomic.Int64                            // requests that wait for a pod
	codes    [600]atomic.Pointer[prometheus.Counter] // by status
}

// of returns the series of an ingress. The series of the empty name counts requests that no ingress serves.
func (m *metrics) of(ingress string) *series {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.known[ingress]; known != nil {
		return known
	}
	made := &series{
		all: m, ingress: ingress, active: m.active.WithLabelValues(ingress), duration: m.duration.WithLabelValues(ingress),
		failures: m.failures.WithLabelValues(ingress),
	}
	m.known[ingress] = made
	return made
}

// keep removes the series of ingresses that no longer exist.
func (m *metrics) keep(ingresses map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ingress := range m.known {
		if ingress != "" && !ingresses[ingress] {
			delete(m.known, ingress)
			for _, vec := range []interface{ DeletePartialMatch(prometheus.Labels) int }{m.requests, m.duration, m.active,
				m.failures, m.connections} {
				vec.DeletePartialMatch(prometheus.Labels{"ingress": ingress})
			}
		}
	}
}

// served counts an answer.
func (s *series) served(status int, took time.Duration) {
	s.duration.Observe(took.Seconds())
	if status < 0 || status >= len(s.codes) {
		s.first(status)
		return
	}
	if counter := s.codes[status].Load(); counter != nil {
		(*counter).Inc()
	} else if made := s.first(status); made != nil {
		s.codes[status].Store(&made)
	}
}

// connected counts the end of a connection of a port.
func (s *series) connected(failure error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.all.known[s.ingress] != s {
		return
	}
	result := "passed"
	if failure != nil {
		result = "failed"
	}
	s.all.connections.WithLabelValues(s.ingress, result).Inc()
}

// first creates the counter for a status, counts one answer and returns the counter. It returns nil if the ingress no
// longer exists: a request that ends later would create a counter that is never removed.
func (s *series) first(status int) prometheus.Counter {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.all.known[s.ingress] != s {
		return nil
	}
	counter := s.all.requests.WithLabelValues(s.ingress, strconv.Itoa(status))
	counter.Inc()
	return counter
}
