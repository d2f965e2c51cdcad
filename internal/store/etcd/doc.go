// Package etcd is the Store on an embedded etcd: one member in this process, called without a network hop.
//
// It decides how etcd is run (sockets, ticks, compaction, bounds on memory and disk), what a full disk or database means,
// and what happens when etcd gives up: Open or Options.OnFatal says so, never an exit of the process. It decides nothing
// about what is stored. Only this package imports etcd.
//
// # When space runs out
//
// Reads go on in every case. Commits are refused before anything of them is written, with an error that says what to do:
//
//   - Below MinFree of free disk only commits that delete pass, below an eighth of it none. The ballast, a file in the
//     data directory made at a start with plenty of room, is for that case alone: the operator removes it to have room to
//     delete with. The server never removes it by itself, or it would be gone before anybody looked.
//   - A database that would outgrow Quota is recovered first: its history is forgotten (views list again) and its file is
//     packed. Where that gains little, the next attempt is a minute away, and meanwhile only deletions pass.
package etcd
