// Package unanswered records the nodes that were asked for an image and gave no sign, so that another node is asked. A
// hostile or hanging node may still send heartbeats.
//
// It decides nothing about images: the image's owner handles a node's answer, or the lack of an image.
package unanswered
