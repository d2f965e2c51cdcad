// Package backup is the file that a backup is: what it holds, how it is written and read as one stream, and which files
// of a folder a retention deletes.
//
// A file is a tar in one zstd frame, followed by a skippable frame with the SHA-256 of all bytes before it. Sealed with
// age around it, it can also be opened by hand:
//
//	age -d -i key.txt tend-….tar.zst.age | zstd -d | tar -t
//
// The tar's first entry says which format it is, the last one (manifest.json) lists the sums of all others: the store's
// snapshot, the files of the root, the blobs. A reader refuses a file of which any byte was changed, added or cut.
//
// The package never encrypts (package secret does), and never decides where a part goes: see package restore.
package backup
