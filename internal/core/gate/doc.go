// Package gate decides whether a release may touch slots yet: what it depends on must be ready, and its commands must
// have succeeded, one after another. It decides as well what becomes of a command that runs.
//
// It starts nothing and keeps nothing. A command's run is recorded before its container exists, so whoever asks again
// after a crash reads the same runs and gets the same answer: no command of a release is asked for twice.
//
// The order is: what the release depends on, then a command of an earlier release that still runs (a migration is let
// finish, never cut by a newer apply), then its own commands. Once a command was asked for, the dependencies don't count
// any more. A failed command closes the gate for good: another try is another release.
//
// The safety sentences that property_test.go checks:
//
//   - the gate is open only when every command has succeeded;
//   - a command starts only when all before it have succeeded, and none twice;
//   - a command starts only while no other of the workload runs;
//   - a run only moves forward, and what has ended stays as it is.
package gate
