// Package source decides what a sync does next, and what its status says, from what its last poll and its last apply came
// to.
//
// It fetches nothing and applies nothing: internal/source does, and internal/control/syncs calls both.
package source
