// Package liveness decides which nodes are lost, from how long each has been silent, and when too many were lost
// together to act on it.
//
// A node is lost once it has had no heartbeat for a whole timeout. Lost is a statement about the past, not about the
// node: its containers may run on, so an action that follows from it must be safe beside them.
//
// If at least two nodes, and more than a third of all, went silent within one timeout, the cause is more likely the
// network between them and the server, or the server itself, than the nodes. Then those nodes are held: their pods are
// not replaced until enough of them answer again. So a cut network doesn't move everything onto the nodes that are
// left.
//
// Before it is lost, a node that has missed two beats is unheard: it gets no new pods, and keeps what it runs. What a
// node can't be heard of because its server stands still, or was started again, is the server's silence and never the
// node's: HearingOf and Rhythm tell them apart.
//
// It has no clock and never asks a store: its functions are of values.
package liveness
