// Package wire holds what the transports of the node protocol have in common: how values and errors travel in requests
// and answers of HTTP, in both directions between a server and a node.
package wire
