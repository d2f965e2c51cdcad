// Package fault puts failpoints around a store and a runtime, from outside: two decorators name a point before and after
// every call that reaches the world, and Points decides what happens at one. Nothing is rewritten, and without Points
// the decorators are not there at all.
//
// A point is "store.<site of the transaction>.before", "store.grant.after", "runtime.create.before" and so on. "Before"
// is passed on the way in; "after" once the call succeeded, when its effect is in the world and its caller has yet to
// hear of it. That is where a process dies: between any two of its effects, with the newest told or untold.
//
//	points := fault.New(fault.Options{Crash: "runtime.start.after", At: 2})
//	s, rt := fault.Store(s, points), fault.Runtime(rt, points)
//	<-points.Crashed() // from here on neither lets anything through
//
// It never decides what is right after a crash: a test does, by comparing the end with that of a run without faults.
package fault
