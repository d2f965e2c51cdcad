package workload

import (
	"errors"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/owner"
	"tend.dev/tend/internal/core/dependency"
	"tend.dev/tend/internal/core/gate"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/records"
)

// Preview returns what the controller will do once an object is stored: the actions the planner will return if each
// succeeds. It writes nothing. If the image isn't known yet, its resolution is the first action and the rest is planned
// as if it had been found.
func (c *Controller) Preview(s records.Snapshot, object api.Object) ([]api.PlannedAction, error) {
	ref := object.Ref()
	o, err := c.observeAs(s, records.Read[api.Object]{Value: &object})
	var unworkable *owner.UnworkableError
	if errors.As(err, &unworkable) && unworkable.Reason != api.ReasonInvalidSpec { // it may be stored, and waits
		return []api.PlannedAction{{Object: ref, Verb: "refuse", Reason: unworkable.Reason, Text: fmt.Sprintf("%v: %s", unworkable.Cause, unworkable.Next)}}, nil
	}
	if err != nil {
		return nil, err
	}
	var out []api.PlannedAction
	add := func(verb, release, text string) {
		out = append(out, api.PlannedAction{Object: ref, Verb: verb, Release: release, Text: text})
	}
	now := c.Now()
	a, err := c.assess(o, now)
	if err != nil {
		return nil, err
	}
	if a.target.awaits {
		add(o.lookFor())
		if a, err = c.assessAsIfFound(o, a.target.release); err != nil {
			return nil, err
		}
	}
	if release := a.target.minted(); release != nil {
		add("mint", release.ID, fmt.Sprintf("make release %s (%s)", release.ID, release.Reason))
	}
	if turned := a.target.turned; turned != nil {
		add("keep", a.target.release.ID, fmt.Sprintf("stay on %s: %s failed, and is tried again by %s, or with another manifest",
			a.target.release.ID, turned.Release, o.again()))
	}
	if p := a.target.pending; p != nil {
		if p.gate.State == gate.Failed {
			add("refuse", p.release.ID, p.gate.Message)
			return out, nil
		}
		for _, need := range dependency.Waiting(ref.Scope, p.release.Steps.DependsOn, o.dependency) {
			add("wait", p.release.ID, "wait for "+need)
		}
		for _, command := range o.commands(p.release, p.release.Steps.Before) {
			if command.Run == nil || !command.Run.State.Ended() {
				add("run", p.release.ID, fmt.Sprintf("run %s of %s", gate.Field(command.Role), p.release.ID))
			}
		}
		a.desired, a.slots = o.desired(target{release: p.release}), o.asOf(p.release, o.slots(), now)
	}
	return append(out, o.forecast(a, now)...), nil
}

// forecast returns the planner's actions, and before them what a bad release would cost.
func (o observed) forecast(a assessment, now time.Time) (out []api.PlannedAction) {
	actions := rollout.Forecast(a.desired, a.slots, now)
	if risk := outage(a, actions); risk != "" {
		out = append(out, api.PlannedAction{Object: o.ref, Verb: "risk", Release: a.desired.Target.Release, Text: risk})
	}
	for _, action := range actions {
		if action.Verb == rollout.Forget || action.Verb == rollout.Remove {
			continue // the remains of ended slots are removed anyway
		}
		out = append(out, api.PlannedAction{
			Object: o.ref, Verb: string(action.Verb), Slot: action.Slot, Task: action.Task,
			Release: action.Version.Release, Reason: action.Reason, Text: action.String(),
		})
	}
	return out
}

// lookFor returns the action that brings the image.
func (o observed) lookFor() (verb, release, text string) {
	image, build := o.wanted()
	if build != nil {
		return "build", "", fmt.Sprintf("build image %s, unless it is there", image)
	}
	return "resolve", "", "resolve image " + image
}

// assessAsIfFound assesses as if the image were present: unchanged if it has the name of the one in force.
func (c *Controller) assessAsIfFound(o observed, inForce *api.Release) (assessment, error) {
	wanted, _ := o.wanted()
	found := api.ImageStatus{
		Owner: o.ref, OwnerUID: o.uid(), Image: wanted, Nonce: o.stamp(api.StampPull), State: api.ImagePresent, ImageID: "unresolved",
	}
	if inForce != nil && inForce.Image == wanted {
		found.ImageID = inForce.ImageID
	}
	o.images = []records.Read[api.ImageStatus]{{Value: &found}}
	return c.assess(o, c.Now())
}
