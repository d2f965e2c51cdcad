package prober

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
)

// Metrics are the collectors of attempts. A nil *Metrics collects nothing.
type Metrics struct {
	attempts *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// NewMetrics returns the collectors after registering them. It panics if the registry already has them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tend_probe_attempts_total", Help: "Attempts of probes that ended.",
		}, []string{"probe", "type", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "tend_probe_attempt_duration_seconds",
			Help:    "Time one attempt of a probe took.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8), // 1 ms to 16 s
		}, []string{"type"}),
	}
	registry.MustRegister(m.attempts, m.duration)
	return m
}

func (m *Metrics) attempted(a Attempt, result probe.Result, took time.Duration) {
	if m == nil {
		return
	}
	m.attempts.WithLabelValues(string(a.Kind), typeOf(a.Probe), resultOf(result)).Inc()
	m.duration.WithLabelValues(typeOf(a.Probe)).Observe(took.Seconds())
}

func typeOf(p api.Probe) string {
	switch {
	case p.HTTPGet != nil:
		return "http_get"
	case p.TCPSocket != nil:
		return "tcp_socket"
	}
	return "exec"
}

func resultOf(result probe.Result) string {
	switch {
	case result.Void:
		return "void"
	case result.Pass:
		return "pass"
	}
	return "fail"
}
