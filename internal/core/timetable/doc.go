// Package timetable decides when jobs run and what happens to their runs: which due time starts a run, which attempt
// starts, stops or ends it, which runs are kept, and when to decide again.
//
// It never acts, never waits and reads no clock. Schedule.Next is calendar arithmetic; Plan is a function of what is
// declared, what is stored and the current time, and returns actions as data. A caller that passes the current state
// gets the next actions, whatever happened before, so a crash between any two steps needs no special case.
//
// The words: a due time is an instant a schedule names. A run is one execution, created before anything of it starts;
// an attempt is one task of it. A run is active until it has ended.
//
// The rules, one file each:
//
//	due.go      the newest of the due times that passed starts a run, if it isn't too late; the others are missed
//	over.go     which due times a restore dealt with, and for how long
//	clock.go    which due times were dealt with when the clock is behind what is on record
//	release.go  a release of a job that runs each by itself starts one run, once nothing else runs
//	attempt.go  a run is attempted until an attempt succeeds, or its retries are used up; core/once judges each
//	history.go  a number of ended runs is kept of each outcome; what belongs to no run goes
//	record.go   what a run's record contains of its attempts
//
// How a schedule handles a change of the clock:
//
//	it names fixed times (30 2 * * *)     the clock skips it       once, at the instant the clock was set forward
//	                                      the clock repeats it     once, the first time
//	it has a star or a step in minute     the clock skips it       not at all: the clock never shows it
//	or hour (*/15 * * * *)                the clock repeats it     each time: every real hour has its runs
//
// property_test.go checks these invariants on random histories:
//
//   - a run never has two live attempts; under Forbid and Replace no two runs have;
//   - no attempt of a run starts after a request to stop it;
//   - a due time starts at most one run, whatever the clock says;
//   - a release starts at most one run by itself;
//   - a clock that was ahead silences no due time that it passed over;
//   - a run's state only moves forward, and an ended run doesn't change until it is deleted, except that one that
//     failed with its lost node gets the outcome that the node reports when it is back;
//   - no more ended runs are kept than configured, except those that ended a moment ago;
//   - an up-to-date state plans nothing, and time changes a plan only at the moment the plan named;
//   - whatever prefix of a plan is carried out before a crash, the end is the same.
package timetable
