// Package probe decides the phases of one container's probes, and when each probe runs next.
//
// It never probes a container, reads no clock and starts nothing: the caller of a Machine supplies the time and the
// answers (internal/node/agent/prober), and a Verdict goes to the healing of the task (internal/core/healing).
//
// A probe's phase is unknown when its container starts, healthy after success_threshold passes in a row, unhealthy
// after failure_threshold failures in a row. While a declared startup probe has not passed, the others neither run nor
// count; once it has passed, it never runs again for that container.
//
// The schedule keeps many probes from running at once without delaying any result:
//
//   - the first attempt comes initial_delay after the start;
//   - until it has passed once, a readiness or startup probe is repeated at short intervals that grow up to the
//     period: a container that is ready after a second isn't kept waiting for the rest of the period;
//   - the next one comes early, at a point within the period that differs from probe to probe. So that coming early
//     never shortens the time a container has, an attempt less than a period after the last one that counted may pass
//     but can't count as a failure;
//   - from then on the period is kept, however long an attempt takes; a missed attempt is skipped, not made up for;
//   - a container that ran before (the agent restarted) is also first probed at such a point within a period.
//
// testdata holds transcripts; property_test.go compares the machine with a simple count of the answers.
package probe
