// Package gate decides whether a release may touch slots yet: what it depends on must be ready, and its commands must
// have succeeded, one after another. It also decides about the outcome of a command that runs, whose task core/once
// judges.
//
// It starts nothing and keeps nothing. A command's run is recorded before its container exists, so a caller that asks
// again after a crash reads the same runs and gets the same answer: no command of a release is requested twice.
//
// The order is: the dependencies of the release, then a command of an earlier release that still runs (a migration may
// finish; a newer apply never interrupts it), then its own commands. Once a command was requested, the dependencies no
// longer count. A failed command closes the gate for good: another attempt is another release.
//
// property_test.go checks these invariants:
//
//   - the gate is open only when every command has succeeded;
//   - a command starts only when all before it have succeeded, and none twice;
//   - a command starts only while no other of the workload runs;
//   - a run only moves forward, and an ended run doesn't change.
package gate
