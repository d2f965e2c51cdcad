// Package recipe decides how a source tree becomes an image: by its own Dockerfile, or by one generated for its
// language. It reads the tree and runs nothing.
package recipe
