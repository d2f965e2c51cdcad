// Package unanswered records which nodes were asked for an image and gave no sign: another one is asked then. A node may be
// hostile, or hang, and its heartbeat go on.
//
// It decides nothing about images: what a node answers, and that an image can't be had, is the business of the image's owner.
package unanswered
