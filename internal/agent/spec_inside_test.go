package agent

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

// Ports of a container that has the host's network are not published, others are.
func TestPortsOnTheHostsNetwork(t *testing.T) {
	for mode, want := range map[string]int{"host": 0, "": 1} {
		release := node.Release{Spec: api.DeploymentSpec{Container: api.Container{NetworkMode: mode}, Ports: []string{"9100"}}}
		if got := len(containerSpec(api.Task{Slot: "a"}, release).Spec.Ports); got != want {
			t.Errorf("network mode %q: %d ports are published, want %d", mode, got, want)
		}
		if len(release.Spec.Ports) != 1 {
			t.Error("the release was changed")
		}
	}
}

// TestWhatIsConfinedStaysSo: the runtime learns it for the container and its init containers.
func TestWhatIsConfinedStaysSo(t *testing.T) {
	release := node.Release{Confined: true}
	if !containerSpec(api.Task{}, release).Confined || !initSpec(api.Task{}, release, api.Init{}, "", 0).Confined {
		t.Error("a confined release has a container that is not")
	}
}
