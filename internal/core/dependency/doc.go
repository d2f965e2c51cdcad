// Package dependency decides whether the workloads that something depends on are ready, and whether a set of
// dependencies contains a cycle.
//
// It does no lookups and keeps nothing: the caller supplies the state of each workload, and asks again when one
// changes.
package dependency
