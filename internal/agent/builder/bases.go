package builder

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/distribution/reference"

	"tend.dev/tend/internal/confine"
)

// confineBases returns why a tree may not be built from its base images where it may not reach the engine's own
// machine: the engine asks whatever host a name begins with. The registry that the node's own options name is meant.
func (b *Builder) confineBases(ctx context.Context, bases []string) error {
	for _, base := range bases {
		named, err := reference.ParseNormalizedNamed(base)
		if err != nil || b.opts.Registry != "" && strings.HasPrefix(base, b.opts.Registry) {
			continue // the engine says what is wrong with it
		}
		host := (&url.URL{Host: reference.Domain(named)}).Hostname()
		if _, err := confine.Lookup(ctx, host, b.opts.Find); errors.Is(err, confine.ErrRefused) {
			return fmt.Errorf("the base image %.200s: %s: no admin declared this build", base, err)
		}
	}
	return nil
}
