// Package etcd is the Store on etcd: Open starts a member in this process, called without a network hop; Connect uses
// an etcd that the user runs, below a prefix of its keys.
//
// For the member it decides how etcd is run (sockets, ticks, compaction, bounds on memory and disk), what a full disk
// or database means, and what happens when etcd gives up: Open or Options.OnFatal reports it, never an exit of the
// process. An external etcd is not maintained: no compaction, no packing, no alarms. Neither decides what is stored.
// Only this package imports etcd.
//
// # When space runs out
//
// Reads succeed in every case. Commits are refused before anything of them is written, with an error that says what to
// do:
//
//   - Below MinFree of free disk only commits that delete pass, below an eighth of it none. The ballast, a file in the
//     data directory made at a start with plenty of room, is for that case alone: a person removes it to have room
//     to delete with. The server never removes it by itself, or it would be gone before a person noticed.
//   - A database that would outgrow Quota is recovered first: its history is deleted (views list again) and its file is
//     packed. If that gains little, the next attempt is a minute away, and meanwhile only deletions pass.
package etcd
