package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/build"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// Build builds an image with BuildKit if the engine has it, else with the engine's classic builder.
func (r *Runtime) Build(ctx context.Context, spec runtime.BuildSpec, output func(line string)) (runtime.Image, error) {
	labels := map[string]string{api.LabelBuildCluster: r.options.Cluster}
	maps.Copy(labels, spec.Labels)
	options := client.ImageBuildOptions{
		Tags: spec.Tags, Dockerfile: spec.Dockerfile, BuildArgs: pointers(spec.Args), Labels: labels,
		NoCache: spec.NoCache, Remove: true, ForceRemove: true,
	}
	pulls, err := r.pullsBases(ctx, spec)
	if err != nil {
		return runtime.Image{}, err
	}
	options.PullParent = pulls
	end, err := r.chooseBuilder(ctx, spec, &options)
	if err != nil {
		return runtime.Image{}, err
	}
	defer end()
	answer, err := r.client.ImageBuild(ctx, spec.Tree, options)
	if err != nil {
		if spec.Confined {
			err = confinedBuildFault(err)
		}
		return runtime.Image{}, r.buildFault("", "", err)
	}
	defer answer.Body.Close()
	follow := newBuildOutput(output)
	follow.trace.confined = spec.Confined
	if err := follow.read(json.NewDecoder(answer.Body)); err != nil {
		if ctx.Err() != nil {
			return runtime.Image{}, fmt.Errorf("build: %w", ctx.Err())
		}
		if spec.Confined {
			err = confinedBuildFault(err)
		}
		return runtime.Image{}, oldFrontend(spec, r.buildFault(follow.step, follow.base, err))
	}
	return r.Resolve(ctx, spec.Tags[0])
}

// chooseBuilder sets the builder in the options, and the builder's inputs besides the source. The caller must call end
// after the build.
func (r *Runtime) chooseBuilder(
	ctx context.Context, spec runtime.BuildSpec, options *client.ImageBuildOptions,
) (end func(), err error) {
	session, err := r.openSession(ctx, spec)
	switch {
	case err != nil:
		return nil, r.buildFault("", "", err)
	case session != nil:
		options.Version, options.SessionID = build.BuilderBuildKit, session.ID()
		return session.end, nil
	case spec.BuildKit != nil:
		return nil, &runtime.RejectedError{Reason: api.ReasonBuildFailed, Detail: spec.BuildKit.Error()}
	case len(spec.Secrets) > 0:
		return nil, &runtime.RejectedError{Reason: api.ReasonBuildFailed,
			Detail: "build.secrets needs BuildKit, which the engine does not have",
			Next:   "leave secrets out, or upgrade the engine"}
	}
	options.Version = build.BuilderV1
	options.AuthConfigs, err = r.baseAuths(ctx, spec)
	return func() {}, err
}

// pullsBases reports whether base images must be pulled even if the engine has images of those names: images that
// another scope built, and for a source that may be hostile, any image. Otherwise a name would suffice to read the
// image of another scope, or to replace it.
func (r *Runtime) pullsBases(ctx context.Context, spec runtime.BuildSpec) (bool, error) {
	if spec.Confined {
		return true, nil
	}
	for _, base := range spec.Bases {
		image, err := r.Resolve(ctx, base)
		var rejected *runtime.RejectedError
		switch {
		case errors.Is(err, runtime.ErrNotFound), errors.As(err, &rejected):
			// the engine reports the fault and its place
		case err != nil:
			return false, err
		case !image.OpenTo(spec.Labels[api.LabelBuildScope], base):
			return true, nil
		}
	}
	return false, nil
}

func pointers(args map[string]string) map[string]*string {
	out := make(map[string]*string, len(args))
	for name, value := range args {
		out[name] = &value
	}
	return out
}

// noSpace and needsBuildKit are words of the engine's errors, in lower case.
const noSpace, needsBuildKit = "no space left on device", "requires buildkit"

// buildFault classifies the error of a failed build. step is the failed step; base is the image that it could not get,
// or "".
func (r *Runtime) buildFault(step, base string, err error) error {
	var reported *jsonstream.Error
	if !errors.As(err, &reported) && unavailable(err) {
		return r.fault("build", err)
	}
	detail := engineText(err)
	if containsAll(detail, []string{noSpace}) {
		return runtime.DiskFull(r.place(), "the build of the image")
	}
	if named, err2 := reference.ParseNormalizedNamed(base); err2 == nil {
		return pullFault(r.place(), "FROM", named, err)
	}
	rejected := &runtime.RejectedError{Reason: api.ReasonBuildFailed, Detail: detail,
		Next: "correct the source or the Dockerfile and apply again"}
	if step != "" {
		rejected.Detail = "step " + step + ": " + detail
	}
	if containsAll(detail, []string{needsBuildKit}) {
		rejected.Next = "the engine's classic builder is used: write the step without it, or build the image elsewhere, push it, and name it in image"
	}
	return rejected
}

// oldFrontend adds to an error of the engine's Dockerfile parser how to get a newer parser, if the Dockerfile uses a
// feature that an old one doesn't know.
func oldFrontend(spec runtime.BuildSpec, err error) error {
	var rejected *runtime.RejectedError
	if spec.BuildKit == nil || !errors.As(err, &rejected) || !containsAll(rejected.Detail, []string{"unknown"}) {
		return err
	}
	return &runtime.RejectedError{Reason: rejected.Reason, Detail: rejected.Detail,
		Next: "the engine's own BuildKit may be too old for it: put # syntax=docker/dockerfile:1 into the first line, or upgrade the engine"}
}
