// Package builder makes an image from a source tree that is kept under its digest: it unpacks the tree, finds out how to
// build it, has the runtime do it, and writes down what that prints. When something is built, and what becomes of the
// image, is the agent's affair.
package builder
