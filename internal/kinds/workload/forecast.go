package workload

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/gate"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/store/records"
)

// toTheEnd returns what a dry run shows: the actions that the planner will return if each succeeds, and not those of
// this step alone. If the image isn't known yet, its resolution is the first action and the rest is planned as if it
// had been found.
func (c *workloads) toTheEnd(o observed, a assessment, now time.Time) (out []api.PlannedAction, err error) {
	if _, due := o.wantedImage(); due || a.target.awaits {
		out = append(out, o.lookFor())
	}
	if a.target.awaits {
		if a, err = c.assessAsIfFound(o, a.target.release); err != nil {
			return nil, err
		}
	}
	if release := a.target.minted(); release != nil {
		out = append(out, o.minting(release))
	}
	if turned := a.target.turned; turned != nil {
		good := a.target.release.ID
		text := fmt.Sprintf("stay on %s: %s failed, and is tried again by %s, or with another manifest", good,
			turned.Release, o.again())
		out = append(out, api.PlannedAction{Object: o.ref, Verb: "keep", Release: good, Text: text})
	}
	p := a.target.pending
	if p == nil {
		return append(out, o.forecast(a, now)...), nil
	}
	if out = append(out, o.gated(*p)...); p.gate.State == gate.Failed {
		return out, nil
	}
	a.desired, a.slots = o.desired(target{release: p.release}), o.asOf(p.release, o.slots(), now)
	return append(out, o.forecast(a, now)...), nil
}

// gated returns what comes before a release may touch a slot.
func (o observed) gated(p pending) (out []api.PlannedAction) {
	if p.gate.State == gate.Failed {
		return []api.PlannedAction{{Object: o.ref, Verb: "refuse", Release: p.release.ID, Text: p.gate.Message}}
	}
	waits, _ := o.waitsFor(p.release)
	for _, need := range waits {
		out = append(out, api.PlannedAction{Object: o.ref, Verb: "wait", Release: p.release.ID,
			Text: "wait for " + need})
	}
	if p.release.Steps == nil {
		return out
	}
	for _, command := range o.commands(p.release, p.release.Steps.Before) {
		if command.Run == nil || !command.Run.State.Ended() {
			out = append(out, o.running(command.Role, p.release))
		}
	}
	return out
}

// forecast returns the planner's actions until nothing is left to do, and before them what a bad release would cost.
func (o observed) forecast(a assessment, now time.Time) (out []api.PlannedAction) {
	actions := rollout.Forecast(a.desired, a.slots, now)
	if risk := outage(a, actions); risk != "" {
		out = append(out, api.PlannedAction{Object: o.ref, Verb: "risk", Release: a.desired.Target.Release, Text: risk})
	}
	for _, action := range actions {
		if action.Verb != rollout.Forget && action.Verb != rollout.Remove { // the remains of ended slots are removed anyway
			out = append(out, o.planned(action))
		}
	}
	return out
}

// planned returns an action of the planner.
func (o observed) planned(action rollout.Action) api.PlannedAction {
	action.Pods = o.ref.AppID() + "."
	return api.PlannedAction{
		Object: o.ref, Verb: string(action.Verb), Slot: action.Slot, Task: action.Task,
		Release: action.Version.Release, Reason: action.Reason, Text: action.String(),
	}
}

// lookFor returns the action that brings the image.
func (o observed) lookFor() api.PlannedAction {
	image, build := o.wanted()
	if build != nil {
		return api.PlannedAction{Object: o.ref, Verb: "build",
			Text: fmt.Sprintf("build image %s, unless it is there", image)}
	}
	return api.PlannedAction{Object: o.ref, Verb: "resolve", Text: "resolve image " + image}
}

// minting returns the action that makes a release.
func (o observed) minting(release *api.Release) api.PlannedAction {
	text := fmt.Sprintf("make release %s (%s)", release.ID, release.Reason)
	return api.PlannedAction{Object: o.ref, Verb: "mint", Release: release.ID, Text: text}
}

// running returns the action that runs a command of a release.
func (o observed) running(role api.TaskRole, release *api.Release) api.PlannedAction {
	text := fmt.Sprintf("run %s of %s", gate.Field(role), release.ID)
	return api.PlannedAction{Object: o.ref, Verb: "run", Release: release.ID, Text: text}
}

// assessAsIfFound assesses as if the image were present: unchanged if it has the name of the one in force.
func (c *workloads) assessAsIfFound(o observed, inForce *api.Release) (assessment, error) {
	wanted, _ := o.wanted()
	found := api.ImageStatus{
		Owner: o.ref, OwnerUID: o.uid(), Image: wanted, Nonce: o.stamp(api.StampPull), State: api.ImagePresent,
		ImageID: "unresolved",
	}
	if inForce != nil && inForce.Image == wanted {
		found.ImageID = inForce.ImageID
	}
	o.images = []records.Read[api.ImageStatus]{{Value: &found}}
	return c.assess(o, o.now)
}
