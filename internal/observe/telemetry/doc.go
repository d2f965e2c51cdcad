// Package telemetry measures the store and the container runtime from outside. A decorator of each counts and times
// every call. Each commit, and each call that changes a container, becomes a step of its trace (package tracing).
//
//	metrics := telemetry.NewStoreMetrics(registry)
//	s = telemetry.Store(s, metrics)
//
// Labels are names of operations and results, never of objects, so the number of series is bounded. The package changes
// no answer and decides nothing. Package census counts the state of the whole cluster.
package telemetry
