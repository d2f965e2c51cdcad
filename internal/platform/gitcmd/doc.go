// Package gitcmd runs the machine's git within bounds: it prompts for nothing, runs no hook, follows no submodule, and
// uses only the usual transports. Credentials reach it through its environment, never in its arguments, which other
// users of the machine can read; Shown returns a URL without them, for output.
//
// It decides neither what is fetched nor what becomes of it.
package gitcmd
