// Package telemetry measures the store from outside: a decorator counts and times every call, and each commit becomes a
// step of its trace (package tracing). Calls are the metrics of any interface; node/runtime/measured uses them for the
// container runtime.
//
//	metrics := telemetry.NewStoreMetrics(registry)
//	s = telemetry.Store(s, metrics)
//
// Labels are names of operations and results, never of objects, so the number of series is bounded. The package changes
// no answer and decides nothing. Package census counts the state of the whole cluster.
package telemetry
