// Package rollout decides what happens to the slots of a workload: which are created, replaced, stopped, collected, and
// when to decide again.
//
// It never acts and never waits: Decide is a function of values, and what it returns is data. A rollout is not a
// process but a property of the slots: a caller that passes the current state to Decide gets the next actions, whatever
// happened before, so a crash, a second apply or a manual change in the middle needs no special case.
//
// The words: a slot is a place a workload wants filled, with the one task that fills it. It is live while its task is
// wanted and has not ended. A place is a live slot, or a pair of an outdated slot and the successor that is to take
// over from it (start-first). A slot is good when it is ready and has been up for the monitor time without an exit,
// settled when the next one may be touched (it is good, or the strategy doesn't wait for its probe), failing when it
// used up its chance, broken when it serves no requests and never did.
//
// The rules, one file each:
//
//	freeze.go    a frozen slot is stopped and keeps its place empty
//	pairs.go     a start-first pair ends as soon as one half can do without the other
//	scale.go     missing places are filled, surplus ones stopped
//	lost.go      the place of a slot on a lost node is filled on another one
//	replace.go   outdated places take turns: max_parallel lanes, a pause, none while the target fails
//	backoff.go   the place of a failed slot waits, longer each time
//	monitor.go   how long a new slot has to stay up: longer where its release kept dying
//	failure.go   what counts as a failure of the target, and the return to the last good release
//	collect.go   ended slots are removed, except the last few failed ones
//
// A statefulset's slots are its ordinals, and each has one task at a time, one container name, and volumes that only
// one container may hold. So it has its own rules (Desired.Ordered), over the same slots and actions:
//
//	ordered.go          what is wanted, what is surplus; surplus is stopped from the top, one after another
//	ordered_fill.go     missing ones are created from the bottom, each once those below have settled; ended ones return
//	ordered_turn.go     outdated ordinals are replaced from the top, one at a time
//	ordered_failure.go  attempts, the backoff between them, and what a failure holds
//
// A slot is lost while its node has been silent for too long. Lost is derived for each decision and never recorded. A
// deployment's slot is replaced on another node if one takes it. An ordinal waits for its node, since its container may
// still run there; that holds the rollout of the others as an ordinal that is not ready does. Scaling holds only for
// one that never came up.
//
// Once a person says that the node is off, its tasks have ended. That doesn't count as a failure, so nothing is held
// and nothing backs off: a deployment's place is filled, and an ordinal is created where another node takes it. The
// caller keeps the old task until the node has cleared it.
//
// An ordinal is replaced in steps that each survive a crash: stop, remove the container, and then one step that forgets
// the old task and creates the new one.
//
// The property tests check these invariants on random histories:
//
//   - never more places than wanted, never a second successor for one slot;
//   - start-first never takes a serving slot away before its successor is settled, nor lets fewer places serve than did
//     and were wanted;
//   - stop-first never has more than max_parallel serving slots down at once;
//   - a version whose slots die within the monitor time, or are never ready, costs no serving slot with start-first,
//     and max_parallel ones with stop-first;
//   - stop-first never starts a container before the one it takes over from has stopped;
//   - a desired state only rises, and one plan acts on a task once;
//   - a lost slot is given up only together with the one that takes its place, and never if no node takes that;
//   - an ordinal never has two tasks, and a new one only once the old container is gone, or a person said that its
//     node is off;
//   - an ordinal never has two live containers, unless that person was wrong;
//   - a scale-up never creates an ordinal before those below are up, a scale-down never stops one before those
//     above have stopped, except for those that can't answer;
//   - a rollout takes down one serving ordinal at a time, the highest outdated one, and ordinal 0 last;
//   - an up-to-date state plans nothing, and any state gets there when faults end;
//   - time changes a plan only at the moment the plan named;
//   - the order in which slots are listed changes nothing.
package rollout
