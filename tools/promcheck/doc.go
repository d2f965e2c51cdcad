// Package promcheck tests the alert rules and the dashboard of deploy/ with Prometheus' own rule engine and parser:
// which series make each alert fire, and which don't. It is a module of its own, so that nothing of Prometheus gets
// into Tend. That the metrics exist which they name is tested in internal/server/daemon, against a running server.
package promcheck
