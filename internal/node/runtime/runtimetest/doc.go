// Package runtimetest is the contract of internal/node/runtime: every runtime passes Run.
//
// A Harness binds it to one runtime: how to make one, what to run in it, and which of the optional parts it has. The
// containers run the program of internal/test/testimage/server, so that every case is a real process; a simulated
// runtime plays the same commands.
//
//	runtimetest.Run(t, runtimetest.Harness{New: newRuntime, Image: image, Program: []string{"/server"}})
package runtimetest
