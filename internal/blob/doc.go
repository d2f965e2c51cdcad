// Package blob keeps files by the digest of their bytes: what an asset holds, and nothing of what it is called.
//
// It decides how bytes come to the disk whole or not at all (written aside, synced, renamed) and under which path
// a container finds them. A path of a digest holds the same bytes for ever, so a container that runs keeps what it has and
// a rollback finds what was. It never decides who needs a blob: whoever removes one has to know.
//
//	digest, err := store.Put(file, blob.MaxBytes)
//	path, err := store.Link(digest, "nginx-conf")
package blob
