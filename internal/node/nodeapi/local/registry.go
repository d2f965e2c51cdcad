package local

import (
	"context"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store/records"
)

// Registry implements nodeapi.Control. Its errors quote nothing of the token.
func (c *Control) Registry(_ context.Context, host string) (node.Registry, bool, error) {
	snap := c.snapshot()
	for object := range snap.Objects(api.KindRegistry) {
		spec, err := api.DecodeSpec[api.RegistrySpec](*object.Value)
		if err != nil || spec.Host() != host || object.Value.Metadata.Deleting() {
			continue
		}
		if !c.pullsFrom(snap, host) {
			return node.Registry{}, false, fmt.Errorf("credentials for %s: %w", host, node.ErrForbidden)
		}
		if spec.Helper != "" {
			return node.Registry{Helper: spec.Helper}, true, nil
		}
		if spec.Secret() == "" {
			return node.Registry{}, true, nil // it needs no login
		}
		token, err := records.OpenToken(spec.Secret(), c.Keys.Decrypt)
		if err != nil {
			return node.Registry{}, false, fmt.Errorf("%s: %w", object.Value.Ref(), err)
		}
		return node.Registry{Username: spec.Username, Token: token}, true, nil
	}
	return node.Registry{}, false, nil
}
