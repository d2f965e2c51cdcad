// Package imageask makes the request for the image of an object's pods, and returns which of the nodes in a snapshot
// answer it: core/placement decides. The servers' side of the node protocol and verbs ask these nodes; the controllers
// report them as the ones that they wait for. Registry returns the registry that an image comes from.
package imageask
