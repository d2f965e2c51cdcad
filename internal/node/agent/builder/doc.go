// Package builder builds an image from a source tree that is stored by its digest: it unpacks the tree, decides how to
// build it, has the runtime build it, and logs the output. The agent decides when something is built, and what happens
// with the image.
package builder
