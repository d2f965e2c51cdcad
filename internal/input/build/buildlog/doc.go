// Package buildlog stores the output of builds: a bounded file for each build, which may be read while it is written.
//
// It never runs a build and doesn't know the format of its output; internal/node/agent/builder writes the lines, and
// the server reads them for users.
package buildlog
