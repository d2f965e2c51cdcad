// Package portowner finds the process that listens on a TCP port of this machine, by /proc. Use it only for messages:
// if it lacks permission, or the process no longer listens, it finds nothing.
package portowner
