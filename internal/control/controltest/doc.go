// Package controltest runs the controllers of what runs once, jobs and labs, for their tests: over a store in memory, by the
// real engine, with the real scheduler and a node that is played. All of it is in a synctest bubble, where time passes
// whenever there is nothing to do.
//
//	controltest.Run(t, controltest.Options{Controllers: newController, Images: images}, func(w *controltest.World) {
//		w.Put(ref, spec)
//		w.Pass(time.Hour)
//	})
//
// It knows no kind: what is applied, and what must come of it, is the business of the tests.
package controltest
