// Package controltest runs the controllers of objects that run once, jobs and labs, for their tests: over a store in
// memory, with the real queue, the real scheduler and a simulated node. Everything runs in a synctest bubble, where
// time passes whenever there is nothing to do.
//
//	controltest.Run(t, controltest.Options{Controllers: newController, Images: images}, func(w *controltest.World) {
//		w.Put(ref, spec)
//		w.Pass(time.Hour)
//	})
//
// It knows no kind: the tests decide what to apply and what must result.
package controltest
