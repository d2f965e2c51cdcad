package server

import (
	"cmp"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the server's own. They use route patterns as labels, so that their number is bounded.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	streams  *prometheus.GaugeVec
	panics   prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tend_http_requests_total", Help: "Requests answered.",
		}, []string{"route", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tend_http_request_duration_seconds", Help: "Time to answer a request; streams count until they end.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
		}, []string{"route"}),
		streams: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tend_http_streams", Help: "Open watches, waits, logs and execs.",
		}, []string{"stream"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tend_http_panics_total", Help: "Requests that panicked.",
		}),
	}
	registry.MustRegister(m.requests, m.duration, m.streams, m.panics)
	return m
}

func (m *metrics) observe(route string, status int, took time.Duration) {
	route = cmp.Or(route, "none")
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(route).Observe(took.Seconds())
}
