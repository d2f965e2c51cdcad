// Package records defines the records of the store: keys, codecs and preconditions of every record, in one place.
//
// It makes no decisions. Its Txn collects typed writes into one store.Txn, and its Snapshot reads typed records from a
// view. A record's writer is named next to its key.
package records
