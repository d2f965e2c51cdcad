package job

import (
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/dependency"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// assessment is the result of one reconcile's planning: everything that its step commits.
type assessment struct {
	target  owner.Target
	refused *timetable.Refusal
	desired timetable.Desired
	plan    timetable.Plan
	// unplaced is the reason why a task has no node.
	unplaced placement.Refusal
}

// assess decides what an object needs.
func (c *jobs) assess(s records.Snapshot, o observed, now time.Time) (a assessment, err error) {
	held := ""
	if !o.deleting() {
		if a.target, a.refused, err = c.choose(s, o, o.image(), now); err != nil {
			return a, err
		}
		if a.refused != nil {
			s.Fleeting() // an environment may become readable without a write
		}
		if needs := o.declared.job.DependsOn; needs != nil {
			held = strings.Join(dependency.Waiting(o.ref.Scope, needs.Workloads, control.Dependencies(s)), ", ")
		}
	}
	a.desired = o.desired(a.target, held, a.refused)
	a.plan = timetable.Decide(a.desired, o.timetable(owner.Refusals(s, o.tasks, c.board)), now)
	a.unplaced = owner.Unplaced(s, o.tasks, c.board)
	return a, nil
}

// choose returns the release of the next run, with an image.
func (c *jobs) choose(
	s records.Snapshot, o observed, image api.ImageStatus, now time.Time,
) (owner.Target, *timetable.Refusal, error) {
	recipe := owner.Recipe{
		Object: *o.object.Value, Declared: api.DeploymentSpec{Container: o.declared.job.Container}, Image: image,
		Newest: owner.Newest(o.releases), First: "first run", Runtimes: o.set.Runtimes,
		Spec: func(resolved api.Container) any { return api.JobSpec{Container: resolved} },
	}
	if o.status.Value != nil {
		recipe.LastNumber = o.status.Value.LastReleaseNumber
	}
	target, refused, err := owner.Choose(s, c.env, recipe, now)
	return target, (*timetable.Refusal)(refused), err
}

// asIfFound returns the release of the next run as if the image were present: unchanged if it has the name of the
// newest one.
func (c *jobs) asIfFound(s records.Snapshot, o observed, now time.Time) (owner.Target, error) {
	found := api.ImageStatus{State: api.ImagePresent, ImageID: "unresolved"}
	found.Image, _ = o.wanted()
	if newest := owner.Newest(o.releases); newest != nil && newest.Image == found.Image {
		found.ImageID = newest.ImageID
	}
	target, _, err := c.choose(s, o, found, now)
	return target, err
}
