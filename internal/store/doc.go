// Package store is Tend's storage: an ordered map of keys to bytes with revisions, atomic commits under preconditions,
// watches from a revision, and leases.
//
// It makes no decisions and knows no kinds. etcd and memory implement Store; storetest is the contract both pass; view
// is the in-memory snapshot everything reads from. internal/store/records writes the values.
package store
