// Package journal keeps what builds print: a file for each build, bounded, which may be read while it is written. It
// doesn't know what a build is.
package journal
