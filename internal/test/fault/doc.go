// Package fault adds failpoints to a store and a runtime from outside. Two decorators have a point before and after
// every call with an effect, and Points decides what happens at each. Tests wrap what they run in their own process; a
// program has the decorators if it was built with the tag failpoints, and FromEnv then configures them.
//
// A point is "store.<site of the transaction>.before", "store.grant.after", "runtime.create.before" and so on. "Before"
// is hit on the way in. "After" is hit once the call succeeded: its effect exists, but its caller hasn't learned of it.
// A process can die at exactly these moments: between any two of its effects, with the newest one acknowledged or not.
//
//	points := fault.New(fault.Options{Crash: "runtime.start.after", At: 2})
//	s, rt := points.Store(s), points.Runtime(rt)
//	<-points.Crashed() // from here on neither lets anything through
//
// The package doesn't judge a crash. A test does, by comparing the final state with that of a run without faults.
package fault
