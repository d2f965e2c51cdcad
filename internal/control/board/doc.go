// Package board keeps the ledger of internal/core/placement in step with snapshots of the store, and answers from it
// where tasks may run: where those go that wait and those that a step creates, why one fits on no node, and which
// nodes may keep theirs.
//
// It commits nothing. Every transaction that gives a task its node, made here for the scheduler and for the steps of
// owners, compares and rewrites records.PlacingKey: of two that were decided from the same state only one is applied.
package board
