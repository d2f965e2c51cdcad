// Package healing decides what one task's container needs next: to be made, started, stopped, removed, or left alone;
// and what its agent reports.
//
// It never acts, never reads a clock, and knows no engine: Plan is a function of what is wanted, what was last reported
// and what is seen now. Whoever carries its action out looks again and calls Plan again until it asks for nothing, so a
// crash between any two steps needs no special case.
//
// The question everything turns on is who ended a container. The engine's restart policy brings back what ended by
// itself, also while Tend is down; so a container that stays down although its policy would have brought it back was
// stopped by a person or by the engine's own restart, and is started again. Where the policy would not have brought it
// back, the events say who it was, and what no event told of counts as an exit. The whole table is testdata/table.txt.
//
// A container that runs is ready when its probes say so (internal/core/probe). One they give up is restarted in place,
// with growing rests, and fails its task in the end; that a restart was decided is recorded before the stop begins.
//
// A container that is made for a rollout without probes is steady when a look after its monitor time saw it run
// (steady.go): that nothing was told of its end proves nothing. A failure is told of with the last lines of its container,
// which are read beside the workers; it waits for them, but not for long (lastlog.go).
//
// The safety sentences that property_test.go checks on random histories: states only move forward, an end is never
// left, nothing starts that isn't wanted or whose predecessor may still run, no second container is made, a
// state that has been reported and needs nothing plans nothing, what is called steady ran for its monitor time, and no
// failure is told of without its lines while they can still come with it.
package healing
