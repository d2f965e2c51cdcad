// Package rotation replaces the keys of a cluster while everything goes on: the one that encrypts secrets, the
// authority of nodes, and that of servers. core/rekey decides when a phase is over; this package carries each phase
// out.
//
// The store has a record for each rotation, and one in which each server says which keys it has. Every server follows
// the records by itself; the one that leads begins the next phase. Whichever of them dies, the next look goes on from
// what is stored.
package rotation
