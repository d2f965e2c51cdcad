package deployment

import (
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/layout"
)

// Preview says what the controller will do once an object is stored: the very actions the planner will ask for, if each
// succeeds. Nothing is written. Where the image isn't known yet, its resolution is the first action and the rest is
// planned as if it had been found.
func (c *Controller) Preview(s layout.Snapshot, object api.Object) ([]api.PlannedAction, error) {
	ref := object.Ref()
	o, err := c.observeAs(s, layout.Read[api.Object]{Value: &object})
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
		add("resolve", "", "resolve image "+o.spec.Image)
		if a, err = c.assessAsIfFound(o, a.target.release); err != nil {
			return nil, err
		}
	}
	if a.target.mint {
		add("mint", a.target.release.ID, fmt.Sprintf("make release %s (%s)", a.target.release.ID, a.target.release.Reason))
	}
	for _, action := range rollout.Forecast(a.desired, a.slots, now) {
		if action.Verb == rollout.Forget || action.Verb == rollout.Remove {
			continue // what is left of ended slots follows by itself
		}
		out = append(out, api.PlannedAction{
			Object: ref, Verb: string(action.Verb), Slot: action.Slot, Task: action.Task,
			Release: action.Version.Release, Reason: action.Reason, Text: action.String(),
		})
	}
	return out, nil
}

// assessAsIfFound assesses with the image taken for present: unchanged where it goes by the name of the one in force.
func (c *Controller) assessAsIfFound(o observed, inForce *api.Release) (assessment, error) {
	found := api.ImageStatus{
		Owner: o.ref, Image: o.spec.Image, Nonce: o.stamp(api.StampPull), State: api.ImagePresent, ImageID: "unresolved",
	}
	if inForce != nil && inForce.Image == o.spec.Image {
		found.ImageID = inForce.ImageID
	}
	o.images = []layout.Read[api.ImageStatus]{{Value: &found}}
	return c.assess(o, c.Now())
}
