package docker

import (
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
)

// TestDetached: a container is off its network only if it is on none of the names that the network may have had.
func TestDetached(t *testing.T) {
	on := map[string]*network.EndpointSettings{"tend0": {NetworkID: "0123456789abcdef"}}
	for name, c := range map[string]struct {
		reason, mode string
		networks     map[string]*network.EndpointSettings
		want         bool
	}{
		"by name":  {"it is there", "tend0", on, false},
		"by id":    {"the engine lists it by its name", "0123456789abcdef", on, false},
		"short id": {"as people write it", "0123456", on, false},
		"another":  {"it was taken off the one it was made for", "tend1", on, true},
		"none":     {"it was taken off all", "tend0", nil, true},
		"host":     {"it shares the node's", "host", nil, false},
		"no net":   {"it is to have none", "none", nil, false},
	} {
		got := detached(container.InspectResponse{
			HostConfig:      &container.HostConfig{NetworkMode: container.NetworkMode(c.mode)},
			NetworkSettings: &container.NetworkSettings{Networks: c.networks},
		})
		if got != c.want {
			t.Errorf("%s: %s: %v", name, c.reason, got)
		}
	}
}
