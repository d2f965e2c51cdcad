// Package owner holds what the kinds that own tasks share: which nodes are lost, tasks with both their halves, and the
// nodes' answer to a request for an image.
//
// It plans nothing and commits nothing. A step asks it while it observes, and guards what it concludes from a lost
// node by the absence of that node's heartbeat in the same commit.
package owner
