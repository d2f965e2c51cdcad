// Package owner is what the controllers of everything that owns tasks share: which nodes are lost, and which image the
// nodes found for an owner.
//
// It plans nothing and writes nothing. A controller asks it while it observes, and guards what it concludes from a lost
// node by the absence of that node's heartbeat in the same commit.
package owner
