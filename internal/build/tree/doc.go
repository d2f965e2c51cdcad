// Package tree carries a folder of source from one machine to another: as a tar that is the same for the same content,
// and back into a folder that nothing in the tar can lead out of.
//
// It decides what belongs to a tree (.dockerignore) and what a tree may hold. What is built from it is not its affair.
package tree
