// Package control holds what the controllers share: the clock, the store they commit to, and the cluster's keys.
//
// Each kind's controller is a folder below: it observes (reads the view), plans (asks internal/core) and acts (one
// commit). It decides nothing by itself that a pure function could decide, and touches no container.
package control
