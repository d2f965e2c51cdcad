// Package telemetry measures the two borders to the world, from outside: a decorator of the store and one of the runtime
// count and time every call, and make a commit, and what changes a container, a step of its trace (package tracing).
//
//	metrics := telemetry.NewStoreMetrics(registry)
//	s = telemetry.Store(s, metrics)
//
// Labels are names of operations and results, never of objects, so the number of series is bounded. The package changes no
// answer and decides nothing. What the cluster as a whole looks like is counted by package census.
package telemetry
