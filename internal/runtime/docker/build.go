package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/build"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/runtime"
)

// Build builds an image with the engine's classic builder.
func (r *Runtime) Build(ctx context.Context, spec runtime.BuildSpec, output func(line string)) (runtime.Image, error) {
	auths, err := r.baseAuths(ctx, spec.Bases)
	if err != nil {
		return runtime.Image{}, err
	}
	labels := map[string]string{api.LabelBuildCluster: r.options.Cluster}
	for name, value := range spec.Labels {
		labels[name] = value
	}
	answer, err := r.client.ImageBuild(ctx, spec.Tree, client.ImageBuildOptions{
		Tags: spec.Tags, Dockerfile: spec.Dockerfile, BuildArgs: pointers(spec.Args), Labels: labels, AuthConfigs: auths,
		NoCache: spec.NoCache, Remove: true, ForceRemove: true, Version: build.BuilderV1,
	})
	if err != nil {
		return runtime.Image{}, buildFault("", err)
	}
	defer answer.Body.Close()
	follow := &buildOutput{line: output}
	if err := follow.read(json.NewDecoder(answer.Body)); err != nil {
		if ctx.Err() != nil {
			return runtime.Image{}, fmt.Errorf("build: %w", ctx.Err())
		}
		return runtime.Image{}, buildFault(follow.step, err)
	}
	return r.Resolve(ctx, spec.Tags[0])
}

func pointers(args map[string]string) map[string]*string {
	out := make(map[string]*string, len(args))
	for name, value := range args {
		out[name] = &value
	}
	return out
}

// baseAuths returns the credentials of the registries that the first images of a Dockerfile come from.
func (r *Runtime) baseAuths(ctx context.Context, bases []string) (map[string]registry.AuthConfig, error) {
	out := map[string]registry.AuthConfig{}
	for _, base := range bases {
		named, err := reference.ParseNormalizedNamed(base)
		if err != nil {
			continue // the engine says what is wrong with it, and where
		}
		auth, found, err := r.options.Auth(ctx, named.String())
		if err != nil {
			return nil, err
		}
		if key := registryKey(base); found {
			out[key] = registry.AuthConfig{
				Username: auth.Username, Password: auth.Password, IdentityToken: auth.IdentityToken, ServerAddress: key,
			}
		}
	}
	return out, nil
}

// buildOutput turns the engine's messages into lines.
type buildOutput struct {
	line func(string)
	// step is the current step, as its line names it.
	step    string
	partial strings.Builder
}

// maxBuildLine bounds one line; a longer one is split into several.
const maxBuildLine = 8 << 10

func (o *buildOutput) read(messages *json.Decoder) error {
	defer o.flush()
	for messages.More() {
		var message jsonstream.Message
		if err := messages.Decode(&message); err != nil {
			return err
		}
		switch {
		case message.Error != nil:
			return message.Error
		case message.Stream != "":
			o.write(message.Stream)
		case message.Status != "" && (message.Progress == nil || message.Progress.Total == 0 && message.Progress.Current == 0):
			o.write(strings.TrimPrefix(message.ID+": ", ": ") + message.Status + "\n")
		}
	}
	_, err := messages.Token() // an answer that was cut is no end
	if err != nil && err.Error() != "EOF" {
		return err
	}
	return nil
}

func (o *buildOutput) write(text string) {
	for text != "" {
		head, rest, ended := strings.Cut(text, "\n")
		if room := maxBuildLine - o.partial.Len(); len(head) > room {
			head, rest, ended = head[:room], text[room:], true
		}
		o.partial.WriteString(head)
		if ended {
			o.flush()
		}
		text = rest
	}
}

func (o *buildOutput) flush() {
	line := strings.TrimRight(o.partial.String(), "\r")
	o.partial.Reset()
	if line == "" {
		return
	}
	if step, found := strings.CutPrefix(line, "Step "); found && strings.Contains(step, " : ") {
		o.step = strings.Replace(step, " : ", " ", 1)
	}
	o.line(line)
}

// buildFault classifies the error of a failed build. step is the one it failed in.
func buildFault(step string, err error) error {
	var spoken *jsonstream.Error
	if !errors.As(err, &spoken) && unavailable(err) {
		return fault("build", err)
	}
	detail := engineText(err)
	if containsAll(detail, []string{"no space left on device"}) {
		return &runtime.TransientError{Reason: "DiskFull", Detail: "build: " + detail, Next: "free space on the node"}
	}
	_, instruction, _ := strings.Cut(step, " ")
	if base, found := strings.CutPrefix(instruction, "FROM "); found {
		name, _, _ := strings.Cut(strings.TrimSpace(base), " ")
		if named, err2 := reference.ParseNormalizedNamed(name); err2 == nil {
			return pullFault(named, err)
		}
	}
	rejected := &runtime.RejectedError{Reason: api.ReasonBuildFailed, Detail: detail, Next: "correct the source or the Dockerfile and apply again"}
	if step != "" {
		rejected.Detail = "step " + step + ": " + detail
	}
	if containsAll(detail, []string{"requires buildkit"}) {
		rejected.Next = "the engine's classic builder is used, which BuildKit's additions don't work in: write the step without them, " +
			"or build the image elsewhere, push it, and name it in image"
	}
	return rejected
}
