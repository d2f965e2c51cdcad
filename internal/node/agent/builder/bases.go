package builder

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/distribution/reference"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/confine"
)

// hub is the domain of the images that name no registry.
const hub = "docker.io"

// confineBases returns why a tree may not be built from its base images where it may not reach the engine's own
// machine: the engine asks whatever host a name begins with, and finds its address again. The registry that the node's
// own options name is meant.
func (b *Builder) confineBases(ctx context.Context, bases []string) error {
	refuse := func(base, next string, why error) error {
		return &runtime.RejectedError{Reason: api.ReasonBuildFailed, Next: next + ", or have an admin apply it",
			Detail: fmt.Sprintf("the base image %.200s: %s: no admin declared this build", base, why)}
	}
	for _, base := range bases {
		if b.opts.Registry != "" && strings.HasPrefix(base, b.opts.Registry) {
			continue
		}
		named, err := reference.ParseNormalizedNamed(base)
		if err != nil {
			return refuse(base, "correct its name", err)
		}
		host := (&url.URL{Host: reference.Domain(named)}).Hostname()
		if host == hub {
			continue
		}
		switch err := confine.Allow(ctx, host, b.opts.Find); {
		case errors.Is(err, confine.ErrRefused):
			return refuse(base, "use an image of a registry elsewhere", err)
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return refuse(base, "see why the node can't find its registry", err)
		}
	}
	return nil
}
