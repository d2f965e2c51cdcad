package builder

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	builds *prometheus.CounterVec
	took   prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	m := &metrics{
		builds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tend_builds_total", Help: "Images built from source, by how that ended: built, failed or cut.",
		}, []string{"result"}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tend_build_duration_seconds", Help: "How long builds took that were not cut.",
			Buckets: []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600},
		}),
	}
	if registerer != nil {
		registerer.MustRegister(m.builds, m.took)
	}
	return m
}

func (m *metrics) ended(err error, took time.Duration) {
	result := "built"
	switch {
	case errors.Is(err, context.Canceled):
		m.builds.WithLabelValues("cut").Inc()
		return
	case err != nil:
		result = "failed"
	}
	m.builds.WithLabelValues(result).Inc()
	m.took.Observe(took.Seconds())
}
