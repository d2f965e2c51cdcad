// Package watch decides what changed between two listings of things that can't be watched: the folder of a server, a
// repository, an HTTP endpoint.
//
// Diff compares a listing with the one before, by id, generation and status. It lists nothing, waits for nothing and
// keeps nothing: internal/control/watcher does.
package watch
