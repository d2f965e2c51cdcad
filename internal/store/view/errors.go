package view

import "errors"

// ErrGone: the watch's changes are no longer kept, because it began too far back or read too slowly; read a Snapshot and
// watch on from there.
var ErrGone = errors.New("changes are no longer kept, list again")
