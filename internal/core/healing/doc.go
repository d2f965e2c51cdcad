// Package healing decides the next step for one task's container: create, start, stop, remove it, or leave it alone;
// and what its agent reports.
//
// It never acts, never reads a clock, and knows no container engine: Plan is a function of the desired state, the last
// report and the state observed now. The caller carries out the action, observes again and calls Plan again until it
// returns no action, so a crash between any two steps needs no special case.
//
// The central question is who ended a container. The engine's restart policy restarts a container that exited by
// itself, even while Tend is down. So a container that stays down although its policy would have restarted it was
// stopped by a person or by the engine's own restart, and is started again. If the policy would not have restarted it,
// the events decide, and an end without an event counts as an exit. The whole table is testdata/table.txt.
//
// A running container is ready when its probes say so (internal/core/probe). A container that its probes give up is
// restarted in place, with growing pauses, and finally fails its task. The decision to restart is recorded before the
// stop begins.
//
// A container that is created for a rollout without probes is steady when an inspection after its monitor time saw it
// run (steady.go): the absence of an end event proves nothing. A failure is reported with the last lines of its
// container, which are read outside of the workers; the report waits for them, but not for long (lastlog.go).
//
// property_test.go checks these invariants on random histories: states only move forward; an end is never left; nothing
// starts that isn't wanted or whose predecessor may still run; no second container is created; a state that has been
// reported and needs nothing plans nothing; a steady container ran for its monitor time; and no failure is reported
// without its lines while they can still come with it.
package healing
