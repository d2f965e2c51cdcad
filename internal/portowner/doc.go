// Package portowner finds the process that listens on a TCP port of this machine, by /proc. It serves messages alone:
// where it may not look, or nobody listens any more, it finds nothing.
package portowner
