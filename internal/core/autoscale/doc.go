// Package autoscale decides how many replicas a deployment should have by the CPU its pods use.
//
// It never measures, writes or waits: Decide is a function of the bounds, the samples of the pods, the last decision
// and the time. It takes one step at a time. After a step in either direction the cooldown of the next one must pass,
// so a mean that swings around the target moves nothing twice.
//
//	d := autoscale.Decide(autoscale.Input{Spec: spec, Replicas: 3, Samples: []float64{95, 88, 91}}, now)
//	// d.Replicas == 4: the mean of 91.3 % is above 1.1 × 70 %
package autoscale
