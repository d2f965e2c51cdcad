// Package retention decides when a file that nothing refers to may be deleted.
//
// That a store doesn't know a file does not prove that the file isn't needed: the store may be empty because its disk
// isn't mounted, or older than the files because it was restored. So a Ledger follows two rules. A file is deleted only
// if this cluster, and no other, once put it or referred to it. And it waits in quarantine for a day first; a reference
// ends the wait.
//
// The quarantine holds marks, not the files: a file stays at the path where containers mount it until it is deleted.
// The package deletes nothing itself. Every collector asks a Ledger before it deletes:
//
//	due, err := ledger.Due(digest, used[digest], now)
package retention
