// Package store is Tend's storage: an ordered map of keys to bytes with revisions, atomic commits under preconditions,
// watches from a revision, and leases.
//
// It makes no decisions and knows no kinds. etcd and memory implement Store; storetest is the contract both pass; view
// is the in-memory snapshot everything reads from. The folders beside them keep something in a store, or next to one:
// records (what lies under which key), the log of events, certificates, secrets' keys, and files by their digest.
package store
