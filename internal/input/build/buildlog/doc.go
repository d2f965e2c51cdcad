// Package buildlog stores the output of builds: a bounded file for each build, which may be read while it is written.
// It doesn't know what a build is.
package buildlog
