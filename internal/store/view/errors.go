package view

import "errors"

// ErrGone means that the watch's changes are no longer kept, because it began too far back or read too slowly. Read a
// Snapshot and watch from there.
var ErrGone = errors.New("the changes since that revision are no longer kept")
