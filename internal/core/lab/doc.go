// Package lab decides what becomes of a lab: when its container is made, when it runs, and how and when it ends.
//
// Decide is a function of what is declared, what is observed and the time. It returns the phase after this step, the
// actions as data, and when to decide again if nothing happens before. It never acts, never waits and reads no clock.
//
// The moves, and no others:
//
//	PENDING ──→ PROVISIONING ──→ RUNNING ──→ COMPLETED   the container ended with 0, or a person stopped the lab
//	                       │           ├───→ FAILED      the container ended otherwise, or its node was lost
//	                       └→ FAILED   └───→ TIMEOUT     its time is over
//
// One step makes at most one move, so what is stored shows each of them.
//
// The rules:
//
//   - A lab begins at its start, or at once. It stays PENDING until its container has a node. No container is
//     made before the start, even if the clock is set back.
//   - A container that could not be started doesn't fail the lab: another one is made after 1, 2, 4 … 30 s. A container
//     that was removed may have run before its node noticed; the lab then fails, since it runs at most once.
//   - Its time counts from when its container ran, by the clock of the server, and includes every extension.
//   - If the container ended, its end is the outcome, even at the instant of a stop or of the end of the lab's time.
//   - When the lab ends or is deleted, all of its tasks are removed, then forgotten.
//
// property_test.go checks these as sentences about random lives.
package lab
