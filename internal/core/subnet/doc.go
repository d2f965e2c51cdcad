// Package subnet decides which part of the network between nodes is each node's.
//
// A node whose containers have a network already keeps its subnet, since containers can't be moved out of it while they
// run: it becomes the node's part if no other node has any of it. A node without one gets the first free subnet of the
// range. What a node has stays its own for as long as it is a node.
package subnet
