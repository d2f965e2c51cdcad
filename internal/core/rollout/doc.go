// Package rollout decides what happens to the slots of a workload: which are created, replaced, stopped, collected, and
// when to look again.
//
// It never acts and never waits: Plan is a function of values, and what it returns is data. A rollout is not a process
// but a property of the slots: whoever calls Plan with what is there now gets the next actions, whatever happened
// before, so a crash, a second apply or a hand-made change in the middle needs no special case.
//
// The words: a slot is a place a workload wants filled, with the one task that fills it. It is live while its task is
// wanted and has not ended. A place is a live slot, or a pair of an outdated slot and the successor that is to take
// over from it (start-first). A slot is settled when the next one may be touched, good when it has proved itself, and
// failing when it used up its chance.
//
// The safety sentences that plan_property_test.go checks on random histories:
//
//   - never more places than wanted, never a second successor for one slot;
//   - start-first never stops a ready slot before its successor is settled;
//   - stop-first never has more than max_parallel ready slots of the old release down at once;
//   - an up-to-date state plans nothing;
//   - the order in which slots are listed changes nothing.
package rollout
