// Package recipe decides how a tree of source becomes an image: by its own Dockerfile, or by one that is written for the
// language it is in. It reads the tree and runs nothing.
package recipe
