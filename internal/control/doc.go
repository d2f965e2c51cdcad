// Package control holds what the controllers share: the clock, the store they commit to, and the engine's keys.
//
// Each kind's controller is a folder below. It observes (reads the view), plans (asks internal/core) and acts (one
// commit). It makes no decision that a pure function could make, and touches no container.
package control
