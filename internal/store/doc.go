// Package store is where Tend remembers: an ordered map of keys to bytes with revisions, atomic commits under
// preconditions, watches from a revision, and leases.
//
// It decides nothing and knows no kinds. etcd and memory implement Store; storetest is the contract both pass; view is
// the in-memory picture everything reads from. Values are written by internal/layout.
package store
