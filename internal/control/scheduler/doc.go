// Package scheduler gives tasks that have no node one: it reads all of them and all nodes at one revision, asks
// internal/core/placement, and commits every choice at once.
//
// It fills Node only where it is empty and writes nothing else. Why a task fits nowhere is told by Refusals, which the
// workload's controller puts into its conditions.
package scheduler
