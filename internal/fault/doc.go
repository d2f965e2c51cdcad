// Package fault adds failpoints to a store and a runtime, from outside: two decorators name a point before and after
// every call that has an effect, and Points decides what happens at one. No code is rewritten. Tests put the decorators
// round what they run in their own process; a program has them if it was built with the tag failpoints, and does what FromEnv says.
//
// A point is "store.<site of the transaction>.before", "store.grant.after", "runtime.create.before" and so on. "Before"
// is hit on the way in; "after" once the call succeeded, when its effect exists and its caller has yet to learn of it.
// These are the moments a process can die: between any two of its effects, with the newest one acknowledged or not.
//
//	points := fault.New(fault.Options{Crash: "runtime.start.after", At: 2})
//	s, rt := points.Store(s), points.Runtime(rt)
//	<-points.Crashed() // from here on neither lets anything through
//
// It never decides what is right after a crash: a test does, by comparing the end with that of a run without faults.
package fault
