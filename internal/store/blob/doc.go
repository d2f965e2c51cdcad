// Package blob stores files by the digest of their bytes: the content of assets, without their names.
//
// It decides how bytes are written to disk completely or not at all (written aside, synced, renamed) and under which
// path a container finds them. A path of a digest holds the same bytes for ever, so a running container keeps the files
// it has and a rollback finds the earlier ones. It never decides whether a blob is still needed: the caller that
// removes one has to know.
//
//	digest, err := store.Put(file, blob.MaxBytes)
//	path, err := store.Link(digest, "nginx-conf")
package blob
