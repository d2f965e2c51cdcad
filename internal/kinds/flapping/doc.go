// Package flapping records the recent losses of each node, so that a node that is lost again and again gets no pods for
// a while (core/liveness, Damp). Placement reads the record and so needs no clock: the record shows when a node's pause
// is over.
//
// It also records the control plane's view of each node: whether it is up or lost, and since when. Each change of that
// record is an event (core/change) in the same commit, so an event comes once.
//
// A loss doesn't count if so many other nodes were lost at the same time that nothing is replaced: the cause is hardly
// the node. The only node never counts either: its pods have nowhere else to go.
package flapping
