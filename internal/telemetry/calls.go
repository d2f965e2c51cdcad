package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// calls are the metrics of one border: a histogram by operation, and a counter of errors by operation and kind of error.
type calls struct {
	took   map[string]prometheus.Observer
	errors *prometheus.CounterVec
}

// border says how the calls of one border are measured.
type border struct {
	// name is what errors and times are of; duration and errors are the names of its metrics.
	name, duration, errors string
	buckets                []float64
	// operations exist from the start.
	operations []string
	// failures are the kinds of errors of each operation that exist from the start: a counter that appears with its first
	// error never grows in the eyes of an alert.
	failures map[string][]string
}

// newCalls registers the collectors of a border.
func newCalls(registry prometheus.Registerer, b border) *calls {
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: b.duration, Help: "Time that one call of the " + b.name + " took.", Buckets: b.buckets,
	}, []string{"operation"})
	errors := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: b.errors, Help: "Calls of the " + b.name + " that failed, by the kind of their error.",
	}, []string{"operation", "error"})
	registry.MustRegister(took, errors)
	c := &calls{took: make(map[string]prometheus.Observer, len(b.operations)), errors: errors}
	for _, operation := range b.operations {
		c.took[operation] = took.WithLabelValues(operation)
		for _, failure := range b.failures[operation] {
			errors.WithLabelValues(operation, failure)
		}
	}
	return c
}

// has reports whether an operation is measured.
func (c *calls) has(operation string) bool { return c.took[operation] != nil }

func (c *calls) observe(operation string, began time.Time, failure string) {
	c.took[operation].Observe(time.Since(began).Seconds())
	if failure != "" {
		c.errors.WithLabelValues(operation, failure).Inc()
	}
}
