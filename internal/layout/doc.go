// Package layout says what lies where in the store: keys, codecs and preconditions of every record, in one place.
//
// It decides nothing. Its Txn collects typed writes into one store.Txn, and its Snapshot reads typed records out of a
// view. A record's writer is named beside its key.
package layout
