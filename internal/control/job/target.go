package job

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/dependency"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/core/spechash"
	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/records"
)

// target is the release that a run executes if it starts now.
type target struct {
	// id is empty while the image isn't known.
	id string
	// fresh is the release to write if a run starts with it; nil if id exists already.
	fresh *api.Release
}

// assessment is the result of one reconcile's planning: everything that act commits.
type assessment struct {
	target  target
	refused *timetable.Refusal
	desired timetable.Desired
	plan    timetable.Plan
	// unplaced says why a task has no node.
	unplaced placement.Refusal
}

// assess decides what an object needs.
func (c *Controller) assess(s records.Snapshot, o observed, now time.Time) (a assessment, err error) {
	held := ""
	if !o.deleting() {
		if a.target, a.refused, err = c.choose(s, o, now); err != nil {
			return a, err
		}
		if needs := o.declared.job.DependsOn; needs != nil {
			held = strings.Join(dependency.Waiting(o.ref.Scope, needs.Workloads, control.Dependencies(s)), ", ")
		}
	}
	a.desired = o.desired(a.target, held, a.refused)
	a.plan = timetable.Decide(a.desired, o.timetable(), now)
	a.unplaced = c.unplaced(s, o)
	return a, nil
}

// unplaced explains the first task that waits for a node.
func (c *Controller) unplaced(s records.Snapshot, o observed) placement.Refusal {
	for _, t := range o.tasks {
		task := t.Desired.Value
		if task.Node != "" || task.Desired != api.DesiredRunning || c.refusals == nil {
			continue
		}
		if refusal, refused := c.refusals(s)[task.ID]; refused {
			return refusal
		}
	}
	return placement.Refusal{}
}

// choose returns the release: the newest one if it is what the object asks for, else a new one.
func (c *Controller) choose(s records.Snapshot, o observed, now time.Time) (target, *timetable.Refusal, error) {
	container, env, err := c.env.Resolve(s, o.ref, o.declared.job.Container)
	if err != nil {
		refused, err := refusedEnv(err, now)
		return target{}, refused, err
	}
	image := o.image()
	switch image.State {
	case api.ImageFailed:
		message := strings.Join(append([]string{image.Message}, image.Log...), "\n")
		return target{}, &timetable.Refusal{Reason: image.Reason, Message: message, Next: image.Next, At: image.UpdatedAt}, nil
	case api.ImagePresent:
	default:
		return target{}, nil, nil
	}
	next := api.Release{
		Kind: o.ref.Kind, Scope: o.ref.Scope, Name: o.ref.Name,
		HashVersion: spechash.Version, AssetDigests: o.object.Value.AssetDigests(),
		ImageID: image.ImageID, ImageDigest: image.Digest, ImageArch: image.Arch,
		Generation: o.object.Value.Metadata.Generation, CreatedAt: now,
	}
	next.Image, next.Build = o.wanted()
	next.SpecHash = hashOf(spechash.Version, container, next.AssetDigests)
	if next.EnvHash, err = c.env.Hash(env); err != nil {
		return target{}, nil, fmt.Errorf("hash the environment: %w", err)
	}
	newest := o.newestRelease()
	if newest != nil && same(*newest, next, container) {
		return target{id: newest.ID}, nil, nil
	}
	o.number(&next, newest)
	if next.Spec, err = json.Marshal(api.JobSpec{Container: container}); err != nil {
		return target{}, nil, fmt.Errorf("encode the spec: %w", err)
	}
	next.Env, err = c.env.Seal(env)
	return target{id: next.ID, fresh: &next}, nil, err
}

// same reports whether a release is what the object asks for. A release hashed by an older version of Tend is compared
// by that version's hash.
func same(r, next api.Release, container api.Container) bool {
	return r.ImageID == next.ImageID && r.EnvHash == next.EnvHash && maps.Equal(r.AssetDigests, next.AssetDigests) &&
		r.SpecHash == hashOf(r.HashVersion, container, next.AssetDigests)
}

// hashOf returns an empty string for an unknown version: that equals no release's hash.
func hashOf(version int, container api.Container, assets map[string]string) string {
	spec := api.WorkloadSpec{DeploymentSpec: api.DeploymentSpec{Container: container}}
	hash, err := spechash.WorkloadVersion(version, spec, assets)
	if err != nil {
		return ""
	}
	return hash
}

func (o observed) number(next, newest *api.Release) {
	next.Number, next.Reason = 1, "first run"
	if newest != nil {
		next.Number = newest.Number + 1
		switch {
		case newest.SpecHash != next.SpecHash && newest.HashVersion == next.HashVersion:
			next.Reason = "spec changed"
		case newest.EnvHash != next.EnvHash:
			next.Reason = "environment changed"
		default:
			next.Reason = "image changed"
		}
	}
	if o.status.Value != nil {
		next.Number = max(next.Number, o.status.Value.LastReleaseNumber+1)
	}
	next.ID = fmt.Sprintf("v%d", next.Number)
}
