// Package probe decides what the probes of one container say, and when each asks next.
//
// It never asks a container, reads no clock and starts nothing: whoever drives a Machine brings the time and the answers
// (internal/agent/prober), and whoever heals the task takes a Verdict (internal/core/healing).
//
// A probe's phase is unknown when its container starts, healthy after success_threshold passes in a row, unhealthy after
// failure_threshold failures in a row. While a declared startup probe has not passed, the others are neither asked nor
// counted; once it has, it is never asked again for that container.
//
// The rhythm keeps many probes from asking at once without making anyone wait:
//
//   - the first ask comes initial_delay after the start;
//   - the second comes early, at a place within the period that differs from probe to probe. So that coming early never
//     shortens the time a container has, it may pass but can't count as a failure;
//   - from there on the period is kept, whatever an attempt takes; what can't be kept is left out, not caught up with;
//   - a container that ran before (the agent restarted) is first asked at such a place within a period, too.
//
// testdata holds transcripts; property_test.go compares the machine with a plain count of the answers.
package probe
