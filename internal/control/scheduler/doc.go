// Package scheduler assigns nodes to tasks that have none: it reads all tasks and nodes at one revision, asks
// internal/core/placement, and commits every choice at once.
//
// It sets Node only where it is empty and writes nothing else. Refusals returns why a task fits on no node; the
// workload's controller puts that into its conditions.
package scheduler
