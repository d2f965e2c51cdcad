// Package restore checks a backup, and makes the root of a server from one.
//
// Everything is checked before anything of the root is changed. A restore has three steps: the parts are written to
// ROOT/restore.partial (and the store to restore.member in the data dir); that folder is renamed to ROOT/restore.ready,
// which is the moment from which on the restore has happened; its files are moved to their places. Apply does the last
// step, and does the rest of it after a crash in between: a server calls it when it starts.
//
// Nothing is deleted: what was in the places is moved to ROOT/replaced/<time>. What belongs to running containers
// (process/, assets/, plugins/, …) stays where it is.
//
// The package never starts anything, and never changes what a store holds: a server whose store was restored starts
// paused, and `tend resume` decides the rest.
package restore
