// Package tree transfers a source folder from one machine to another: as a tar that is the same for the same content,
// and back into a folder that no entry of the tar can leave.
//
// It decides what belongs to a tree (.dockerignore by the rules of Docker, or .gitignore by those of git) and what a
// tree may hold. It doesn't know what is built from it.
package tree
