package workload

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/kinds/owner"
)

// An ordinal that is recreated on request takes the buckets as they are, including keys that were set quietly: the
// person who requested it may have set them for this very pod (which ordinal is the primary, for example). The other
// pods keep their environment. So there is a release for the new environment, and the pods of its root count as
// updated.

// renewsOrdinal reports whether an ordinal is to be recreated on request and its task has not been replaced yet.
func (o observed) renewsOrdinal() bool {
	return slices.ContainsFunc(o.tasks, func(t owner.Task) bool { return o.rebootstraps(*t.Desired.Value) })
}

// renewed returns a copy of the release in force with the environment of the buckets as they are, if an ordinal is to
// be recreated and a quiet change waits for it; else nil.
func (c *workloads) renewed(o observed, id identity, inForce *api.Release) (*api.Release, error) {
	envHash, err := c.env.Hash(o.env)
	if err != nil || !id.renews || inForce.EnvHash == envHash || inForce.ID != o.rollout().TargetRelease {
		return nil, err
	}
	release := *inForce
	release.Number = o.nextNumber()
	release.ID = fmt.Sprintf("v%d", release.Number)
	release.EnvironmentOf, release.EnvHash, release.Steps = inForce.Root(), envHash, nil
	release.Generation, release.CreatedAt = o.object.Value.Metadata.Generation, o.now
	release.Reason = "environment of an ordinal that was made again"
	if release.EnvOver != "" {
		release.EnvOver = envHash
	}
	release.Change = o.object.Value.Metadata.Change
	release.AssetDigests = maps.Clone(inForce.AssetDigests)
	release.Env, err = c.env.Seal(o.env)
	return &release, err
}

// repeats reports whether the pods of a release run what the target asks for, or what the target is a quiet change of.
func (o observed) repeats(id string, target *api.Release) bool {
	release, root := o.release(id), o.release(target.Root())
	return release != nil && (target.Repeats(*release) || root != nil && root.Repeats(*release))
}

// asOf returns the slots as those of a target. A live slot of a release that the target repeats counts as the target's.
// A slot that ended before the release became the target, in an earlier attempt of it, does not.
func (o observed) asOf(target *api.Release, slots []rollout.Slot, now time.Time) []rollout.Slot {
	since := o.rollout().TurnedAt
	if o.rollout().TargetRelease != target.ID {
		since = now
	}
	if since.After(now) { // the clock was set back
		since = time.Time{}
	}
	for i, slot := range slots {
		of := slot.Version.Release
		switch over := slot.State.Terminal(); {
		case over && of == target.ID && slot.CreatedAt.Before(since):
			slots[i].Version.Release = ""
		case !over && of != target.ID && o.repeats(of, target):
			slots[i].Version.Release = target.ID
		}
	}
	return slots
}
