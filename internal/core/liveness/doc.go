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
// It has no clock and never asks a store: Judge is a function of values.
package liveness
