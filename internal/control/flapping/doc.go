// Package flapping keeps a record of when each node was lost lately, so that a node that goes and returns again and again
// gets no pods for a while (core/liveness, Damp). Placement reads the record, and so needs no clock: when the pause of a node
// is over, the record says so.
//
// It also keeps what the control plane knows of each node: whether it is up or lost, and since when. Each change of that record
// is an event (core/change), written in the same commit, so that an event comes once.
//
// A node that is lost together with so many others that nothing is replaced is not counted: the cause is hardly the node.
// Nor is the only node: its pods have nowhere else to go.
package flapping
