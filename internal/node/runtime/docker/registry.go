package docker

import (
	"context"
	"fmt"

	"github.com/distribution/reference"
)

// Registry holds the login to a registry: a username and a token, or the name of a credential helper.
type Registry struct{ Username, Token, Helper string }

// Registries returns the declared login of a registry's host (docker.io, ghcr.io, registry.local:5000), and false if
// there is none.
type Registries func(host string) (Registry, bool, error)

// WithRegistries returns a provider that uses the declared logins first, and next for every other registry.
func WithRegistries(declared Registries, next AuthProvider) AuthProvider {
	return func(ctx context.Context, ref string) (Auth, bool, error) {
		named, err := reference.ParseNormalizedNamed(ref)
		if err != nil {
			return next(ctx, ref)
		}
		host := reference.Domain(named)
		registry, found, err := declared(host)
		switch {
		case err != nil:
			return Auth{}, false, fmt.Errorf("the registry declared for %s: %w", host, err)
		case !found:
			return next(ctx, ref)
		case registry.Helper == "":
			return Auth{Username: registry.Username, Password: registry.Token, Server: registryKey(ref)}, true, nil
		}
		auth, known, err := askHelper(ctx, registry.Helper, registryKey(ref))
		if err != nil {
			return Auth{}, false, fmt.Errorf("the registry declared for %s: %w", host, err)
		}
		if !known {
			return Auth{}, false, fmt.Errorf("the registry declared for %s: docker-credential-%s has no credentials for it",
				host, registry.Helper)
		}
		return auth, true, nil
	}
}
