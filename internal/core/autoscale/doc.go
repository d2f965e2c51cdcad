// Package autoscale decides how many replicas a deployment should have by the CPU its pods use.
//
// It never measures, writes or waits: Decide is a function of the bounds, the samples of the pods, what was decided
// before and the time. One step at a time, and after a step in either direction the cooldown of the next one passes
// first, so a mean that swings around the target moves nothing twice.
//
//	d := autoscale.Decide(autoscale.Input{Spec: spec, Replicas: 3, Samples: []float64{95, 88, 91}}, now)
//	// d.Replicas == 4: the mean of 91.3 % is above 1.1 × 70 %
package autoscale
