// Package keptlogs keeps the last lines of containers after they were removed, for `tend logs --previous`.
//
// A Store has one file for each container: a first line that says whose it is, and, encrypted, a line of JSON for each
// line of output. A file appears whole or not at all, so a crash leaves nothing that is half written. What is kept is
// bounded, by file, object and node; the oldest files go first. Sweep removes the files of objects that are gone.
//
//	store, err := keptlogs.Open(keptlogs.Options{Dir: "/var/lib/tend/logs", Seal: keys.Encrypt, Unseal: keys.Decrypt})
//	err = store.Keep(log, reader)
//	logs := store.Of(owner)
//	reader, err := store.Logs(logs[0].Container, runtime.LogOptions{Tail: 100})
package keptlogs
