package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// calls are the metrics of one interface: a histogram per operation, and a counter of errors per operation and kind.
type calls struct {
	took   map[string]prometheus.Observer
	errors *prometheus.CounterVec
}

// callOptions say how the calls of one interface are measured.
type callOptions struct {
	// name is the interface's name in the help texts; duration and errors are the names of its metrics.
	name, duration, errors string
	buckets                []float64
	// operations are the measured ones. Their series exist from the start.
	operations []string
	// failures are the kinds of errors of each operation whose series exist from the start: an alert doesn't see growth in
	// a counter that appears with its first error.
	failures map[string][]string
}

// newCalls registers the metrics of an interface.
func newCalls(registry prometheus.Registerer, b callOptions) *calls {
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
