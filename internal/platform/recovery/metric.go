package recovery

import "github.com/prometheus/client_golang/prometheus"

// panics counts the panics of the process, like the counters of the Go runtime: most code that starts a goroutine has
// no registry. It has no labels, so that its series exists, with 0, before the first panic: an alert sees that one too.
var panics = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "tend_recovered_panics_total",
	Help: "Panics outside of requests that were recovered; the log has each with its stack.",
})

// Metric returns the collector of tend_recovered_panics_total.
func Metric() prometheus.Collector { return panics }
