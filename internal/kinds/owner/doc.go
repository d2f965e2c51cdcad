// Package owner holds what the kinds that own tasks share: the lost nodes, tasks with their desired and observed
// halves, and the nodes' answers to a request for an image.
//
// It plans nothing and commits nothing. A step calls it to observe. If the step concludes something from a lost node,
// its commit requires that the node's heartbeat is still missing.
package owner
