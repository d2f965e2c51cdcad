// Package execstream carries a running command over a connection that speaks the frames of client/frame: Serve is the end
// where the command runs, Remote the end that reads and writes as if it ran here.
package execstream
