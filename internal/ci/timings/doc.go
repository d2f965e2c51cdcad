// Command timings prints where the time of a CI run went, as the Markdown tables of docs/contribute/testing.md: its
// steps, its packages and its slowest tests. It reads what the Makefile records in bin/timings: steps.tsv, one line a
// step, and one file of `go test -json` events a group of tests, named after the group.
//
// Example:
//
//	go run ./internal/ci/timings -from bin/timings
package main
