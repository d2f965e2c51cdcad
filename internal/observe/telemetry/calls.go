package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Calls are the metrics of one interface: a histogram per operation, and a counter of errors per operation and kind.
// Create them with NewCalls.
type Calls struct {
	took   map[string]prometheus.Observer
	errors *prometheus.CounterVec
}

// CallOptions describe the metrics of one interface.
type CallOptions struct {
	// Name is the interface's name in the help texts; Duration and Errors are the names of its metrics.
	Name, Duration, Errors string
	Buckets                []float64
	// Operations are the measured operations. Their series exist from the start.
	Operations []string
	// Failures are the kinds of errors of each operation whose series exist from the start: an alert doesn't see growth in
	// a counter that appears with its first error.
	Failures map[string][]string
}

// NewCalls registers the metrics of an interface.
func NewCalls(registry prometheus.Registerer, b CallOptions) *Calls {
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: b.Duration, Help: "Time that one call of the " + b.Name + " took.", Buckets: b.Buckets,
	}, []string{"operation"})
	errors := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: b.Errors, Help: "Calls of the " + b.Name + " that failed, by the kind of their error.",
	}, []string{"operation", "error"})
	registry.MustRegister(took, errors)
	c := &Calls{took: make(map[string]prometheus.Observer, len(b.Operations)), errors: errors}
	for _, operation := range b.Operations {
		c.took[operation] = took.WithLabelValues(operation)
		for _, failure := range b.Failures[operation] {
			errors.WithLabelValues(operation, failure)
		}
	}
	return c
}

// Has reports whether an operation is measured.
func (c *Calls) Has(operation string) bool { return c.took[operation] != nil }

// Observe counts a call that began at began, and the kind of its error unless that is empty.
func (c *Calls) Observe(operation string, began time.Time, failure string) {
	c.took[operation].Observe(time.Since(began).Seconds())
	if failure != "" {
		c.errors.WithLabelValues(operation, failure).Inc()
	}
}
