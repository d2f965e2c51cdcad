// Package dependency decides whether the workloads that something depends on are ready for it, and whether a set of
// dependencies goes round in a circle.
//
// It looks nothing up by itself and keeps nothing: whoever asks says how a workload is, and asks again when one changes.
package dependency
