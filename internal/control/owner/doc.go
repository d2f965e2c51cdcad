// Package owner is what the controllers of everything that owns tasks share: which nodes are lost, tasks with both their
// halves, the nodes' answer to a request for an image, and how a commit is guarded and writes its status.
//
// It plans nothing and commits nothing. A controller asks it while it observes, and guards what it concludes from a lost
// node by the absence of that node's heartbeat in the same commit.
package owner
