// Package imageask reads who is asked for an image, of the nodes that a snapshot shows. Which of them it is,
// core/placement decides. The servers' side of the node protocol asks by it, and the controllers say by it whom they
// wait for.
package imageask
