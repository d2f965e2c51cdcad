// Package otlpcheck tests that Tend's traces arrive at a real OTLP receiver, that of OpenTelemetry's collector, and
// lead from `tend apply` to the start of a container. It runs the binary, and is a module of its own, so that nothing
// of the collector gets into Tend.
package otlpcheck
