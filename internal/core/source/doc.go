// Package source decides what a sync does next, and what its status says, from the results of its last poll and its
// last apply.
//
// It fetches nothing and applies nothing: internal/control/syncer does, and internal/kinds/syncs calls both.
package source
