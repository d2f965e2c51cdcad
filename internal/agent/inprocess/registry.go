package inprocess

import (
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/agent"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/store/view"
)

// Registry finds the registry declared for a host, its token in plain text; false where there is none. Its errors quote
// nothing of the token.
func (c *Control) Registry(host string) (api.RegistrySpec, bool, error) {
	for object := range c.snapshot().Objects(api.KindRegistry) {
		spec, err := api.DecodeSpec[api.RegistrySpec](*object.Value)
		if err != nil || spec.Host() != host || object.Value.Metadata.Deleting() {
			continue
		}
		if spec.Helper != "" {
			return spec, true, nil
		}
		if spec.Token, err = layout.OpenToken(spec.Secret(), c.keys.Decrypt); err != nil {
			return api.RegistrySpec{}, false, fmt.Errorf("%s: %w", object.Value.Ref(), err)
		}
		spec.Password = ""
		return spec, true, nil
	}
	return api.RegistrySpec{}, false, nil
}

// registryChanged tells of the hosts whose credentials are others now.
func (c *Control) registryChanged(change view.Change) {
	hosts := map[string]bool{}
	for _, value := range []any{change.Old, change.New} {
		object, ok := value.(*api.Object)
		if !ok || object.Kind != api.KindRegistry {
			continue
		}
		if spec, err := api.DecodeSpec[api.RegistrySpec](*object); err == nil {
			hosts[spec.Host()] = true
		}
	}
	for host := range hosts {
		c.tell(agent.Change{Registry: host})
	}
}
