// Package source decides what a sync does next, and what its status says, from the results of its last poll and its
// last apply.
//
// It fetches nothing and applies nothing: internal/syncer does, and internal/control/syncs calls both.
package source
