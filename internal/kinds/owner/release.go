package owner

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/spechash"
	"tend.dev/tend/internal/store/records"
)

// Recipe holds the parts of a release of something that runs once.
type Recipe struct {
	Object api.Object
	// Declared is its spec before references to other objects are replaced.
	Declared api.DeploymentSpec
	// Spec returns the spec to store in the release, with the container as it was resolved.
	Spec func(resolved api.Container) any
	// Image is the nodes' answer.
	Image api.ImageStatus
	// Newest is the newest release; nil if there is none. LastNumber is the highest number that is known.
	Newest     *api.Release
	LastNumber int
	// First is the reason of the first release.
	First string
	// Runtimes lists the runtimes of the nodes.
	Runtimes []string
}

// Target is the release that is used if something starts now.
type Target struct {
	// ID is empty while the image isn't known.
	ID string
	// Fresh is the release to write if something starts with it; nil if ID exists already.
	Fresh *api.Release
}

// Refusal is the reason why there is no release.
type Refusal struct {
	Reason, Message string
	// Next is the step that helps, if it is known.
	Next string
	At   time.Time
}

// Choose returns the release: the newest one if it fits what the object asks for, else a new one.
func Choose(s records.Snapshot, env *environment.Environments, r Recipe, now time.Time) (Target, *Refusal, error) {
	container, variables, err := env.Resolve(s, r.Object.Ref(), r.Declared.Container)
	if err != nil {
		refused, err := refusedEnv(err, now)
		return Target{}, refused, err
	}
	if refused := r.noRuntime(now); refused != nil {
		return Target{}, refused, nil
	}
	switch r.Image.State {
	case api.ImageFailed:
		message := strings.Join(append([]string{r.Image.Message}, r.Image.Log...), "\n")
		return Target{}, &Refusal{Reason: r.Image.Reason, Message: message, Next: r.Image.Next, At: r.Image.UpdatedAt},
			nil
	case api.ImagePresent:
	default:
		return Target{}, nil, nil
	}
	next, err := r.release(env, container, variables, now)
	if err != nil || r.same(next, container) {
		return Target{ID: next.ID}, nil, err
	}
	r.number(&next)
	if next.Spec, err = json.Marshal(r.Spec(container)); err != nil {
		return Target{}, nil, fmt.Errorf("encode the spec: %w", err)
	}
	next.Env, err = env.Seal(variables)
	return Target{ID: next.ID, Fresh: &next}, nil, err
}

// Need returns what the pods of something that runs once need of a runtime, as far as its manifest says.
func Need(object api.Object, declared api.DeploymentSpec) fit.Need {
	spec := api.WorkloadSpec{DeploymentSpec: declared}
	return fit.Of(spec, fit.Facts{Confined: object.Confined()}).Within(declared.Placement)
}

// noRuntime returns the refusal where no node has the runtime that its pods need. A node that has may join at any time.
func (r Recipe) noRuntime(now time.Time) *Refusal {
	message, next := Need(r.Object, r.Declared).Missing(r.Runtimes)
	if message == "" {
		return nil
	}
	return &Refusal{Reason: api.ReasonNoRuntime, Message: message, Next: next, At: now}
}

// release returns what a new release would be. Its id is that of the newest one, and its spec and environment are
// empty.
func (r Recipe) release(env *environment.Environments, container api.Container, variables map[string]string,
	now time.Time) (api.Release, error) {
	ref := r.Object.Ref()
	next := api.Release{
		Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
		HashVersion: spechash.Version, AssetDigests: r.Object.AssetDigests(),
		ImageID: r.Image.ImageID, ImageDigest: r.Image.Digest, ImageArch: r.Image.Arch, ImageRuntime: r.Image.Runtime,
		Generation: r.Object.Metadata.Generation, CreatedAt: now, Confined: r.Object.Confined(),
	}
	if r.Newest != nil {
		next.ID = r.Newest.ID
	}
	next.Image, next.Build = r.Object.WantedImage(r.Declared.Container)
	next.SpecHash = r.hash(spechash.Version, container)
	var err error
	if next.EnvHash, err = env.Hash(variables); err != nil {
		return api.Release{}, fmt.Errorf("hash the environment: %w", err)
	}
	return next, nil
}

// same reports whether the newest release fits what the object asks for. One hashed by an older version of Tend is
// compared by that version's hash.
func (r Recipe) same(next api.Release, container api.Container) bool {
	old := r.Newest
	return old != nil && old.ImageID == next.ImageID && old.EnvHash == next.EnvHash &&
		maps.Equal(old.AssetDigests, next.AssetDigests) &&
		old.SpecHash == r.hash(old.HashVersion, container)
}

// hash returns an empty string for an unknown version: that equals no release's hash.
func (r Recipe) hash(version int, container api.Container) string {
	spec := api.WorkloadSpec{DeploymentSpec: r.Declared}
	spec.Container = container
	hash, err := spechash.WorkloadVersion(version, spec, r.Object.AssetDigests())
	if err != nil {
		return ""
	}
	return hash
}

func (r Recipe) number(next *api.Release) {
	next.Number, next.Reason = 1, r.First
	if old := r.Newest; old != nil {
		next.Number = old.Number + 1
		switch {
		case old.SpecHash != next.SpecHash && old.HashVersion == next.HashVersion:
			next.Reason = "spec changed"
		case old.EnvHash != next.EnvHash:
			next.Reason = "environment changed"
		default:
			next.Reason = "image changed"
		}
	}
	next.Number = max(next.Number, r.LastNumber+1)
	next.ID = fmt.Sprintf("v%d", next.Number)
}

// refusedEnv turns the reason why there is no environment into a reason to start nothing. Other errors are returned as
// they are.
func refusedEnv(err error, now time.Time) (*Refusal, error) {
	var without *environment.Error
	if !errors.As(err, &without) {
		return nil, err
	}
	return &Refusal{Reason: without.Reason, Message: without.Cause.Error(), Next: without.Next, At: now}, nil
}

// Newest returns the newest of an object's releases; nil if there is none.
func Newest(releases []records.Read[api.Release]) *api.Release {
	if len(releases) == 0 {
		return nil
	}
	return releases[len(releases)-1].Value
}
