// Package promcheck tests the alert rules and the dashboard of deploy/ with Prometheus' own rule engine and parser:
// which series make each alert fire, and which don't. It is a module of its own, so that Tend doesn't depend on
// Prometheus. A test in internal/server/daemon checks against a running server that the metrics in them exist.
package promcheck
