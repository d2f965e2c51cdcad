package autoscale

import (
	"fmt"
	"math"
	"time"

	"tend.dev/tend/api"
)

// The mean is too high above the target times tooHigh, too low below the target times tooLow. Nothing happens between
// them, nor if the step down would cause the step up: one pod at 90 % is two at 45 %.
const (
	tooHigh = 1.1
	tooLow  = 0.7
	// margin is the distance that the mean without one pod must keep below tooHigh, in percent of a core: twice what
	// rounding the mean (to a tenth) can hide.
	margin = 0.2
)

// Input is everything the decision about one deployment depends on.
type Input struct {
	Spec api.Autoscale
	// Replicas is the wanted number now, as in the spec; it may lie outside the bounds.
	Replicas int
	// Samples are the CPU use of the pods that have one; 100 is one core.
	Samples []float64
	// Rolling is set while a rollout is under way: pods that start or stop say nothing about the load.
	Rolling bool
	// Owner is the field manager that set replicas on purpose, if it isn't the autoscaler.
	Owner string
	// Generation is the generation of the spec.
	Generation int64
	// Status is the result of the last decision.
	Status api.AutoscaleStatus
}

// Decision is the wanted number of replicas, and the status to report.
type Decision struct {
	Replicas int
	Status   api.AutoscaleStatus
	// After is the time left of the cooldown that holds a step back; 0 if none does.
	After time.Duration
}

// decider holds one decision while it is made.
type decider struct {
	Input
	now time.Time
	out Decision
}

// Decide returns how many replicas there should be.
func Decide(in Input, now time.Time) Decision {
	d := &decider{Input: in, now: now, out: Decision{Replicas: in.Replicas, Status: in.Status}}
	next := &d.out.Status
	next.ObservedGeneration, next.At = in.Generation, now
	next.CPUPercent, next.Pods = mean(in.Samples), len(in.Samples)
	switch low, high := in.Spec.Bounds(); {
	case in.Owner != "":
		d.stay(api.ReasonReplicasHeld,
			"%s has set replicas to %d; apply the manifest again without replicas to hand them back", in.Owner, in.Replicas)
	case in.Replicas < low:
		d.step(low, api.ReasonOutOfBounds, "%d replicas are fewer than min", in.Replicas)
	case in.Replicas > high:
		d.step(high, api.ReasonOutOfBounds, "%d replicas are more than max", in.Replicas)
	case in.Rolling:
		d.stay(api.ReasonRolloutInProgress, "a rollout is under way; the load is judged when it is over")
	case len(in.Samples) == 0:
		d.stay(api.ReasonNoStats, "no pod that has been ready has a sample yet")
	default:
		d.judge(low, high)
	}
	next.Replicas = d.out.Replicas
	return d.out
}

// judge compares the mean with the target.
func (d *decider) judge(low, high int) {
	use, target := d.out.Status.CPUPercent, float64(d.Spec.CPUTarget)
	above, below := use > tooHigh*target, use < tooLow*target
	switch {
	case above && d.Replicas >= high:
		d.stay(api.ReasonAtMaximum, "the mean of %.1f %% is above the target, and there are max replicas", use)
	case above && !d.cooled(d.Spec.CooldownUp.Or(api.DefaultCooldownUp)):
		d.stay(api.ReasonCoolingDown, "the mean of %.1f %% is above the target; the last change is not cooldown_up ago", use)
	case above:
		d.step(d.Replicas+1, api.ReasonScaledUp, "the mean of %.1f %% was above %.0f %%", use, tooHigh*target)
	case below && d.Replicas <= low:
		d.stay(api.ReasonAtMinimum, "the mean of %.1f %% is below the target, and there are min replicas", use)
	case below && use*float64(d.Replicas)/float64(d.Replicas-1) > tooHigh*target-margin:
		d.stay(api.ReasonOnTarget, "the mean of %.1f %% is low, but one replica fewer would be above the target", use)
	case below && !d.cooled(d.Spec.CooldownDown.Or(api.DefaultCooldownDown)):
		d.stay(api.ReasonCoolingDown, "the mean of %.1f %% is below the target; the last change is not cooldown_down ago",
			use)
	case below:
		d.step(d.Replicas-1, api.ReasonScaledDown, "the mean of %.1f %% was below %.0f %%", use, tooLow*target)
	default:
		d.stay(api.ReasonOnTarget, "the mean of %.1f %% is near the target", use)
	}
}

// cooled reports whether the last change, in either direction, is long enough ago. A change in the future means that
// the clock was set back; it delays nothing.
func (d *decider) cooled(cooldown time.Duration) bool {
	last := d.Status.LastUp
	if d.Status.LastDown.After(last) {
		last = d.Status.LastDown
	}
	left := cooldown - d.now.Sub(last)
	if left <= 0 || last.After(d.now) {
		return true
	}
	d.out.After = left
	return false
}

func (d *decider) step(to int, reason, format string, args ...any) {
	d.stay(reason, format, args...)
	d.out.Status.Message = fmt.Sprintf("from %d to %d: ", d.Replicas, to) + d.out.Status.Message
	d.out.Replicas = to
	if to > d.Replicas {
		d.out.Status.LastUp = d.now
	} else {
		d.out.Status.LastDown = d.now
	}
}

func (d *decider) stay(reason, format string, args ...any) {
	d.out.Status.Reason, d.out.Status.Message = reason, fmt.Sprintf(format, args...)
}

// mean returns the mean rounded to a tenth: smaller differences are noise.
func mean(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	var sum float64
	for _, s := range samples {
		sum += s
	}
	return math.Round(10*sum/float64(len(samples))) / 10
}

// How often a status is written that differs only in the CPU use, and by how much the use must differ.
const (
	rewrite    = time.Minute
	difference = 1.0
)

// StatusDue reports whether a status is worth a write: a change of the wanted number or its reason at once, another CPU
// use once a minute.
func StatusDue(last, next api.AutoscaleStatus) bool {
	if last.Reason != next.Reason || last.Replicas != next.Replicas || last.ObservedGeneration != next.ObservedGeneration {
		return true
	}
	aged := next.At.Sub(last.At) >= rewrite || next.At.Before(last.At)
	return aged && (math.Abs(last.CPUPercent-next.CPUPercent) >= difference || last.Pods != next.Pods)
}
