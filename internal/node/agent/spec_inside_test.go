package agent

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

// Ports of a container that has the host's network are not published, others are.
func TestPortsOnTheHostsNetwork(t *testing.T) {
	for mode, want := range map[string]int{"host": 0, "": 1} {
		release := node.Release{Spec: api.DeploymentSpec{Container: api.Container{NetworkMode: mode},
			Ports: []string{"9100"}}}
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

// TestFurtherNames: a pod has the aliases of its workload as names in its scope; what runs once, and an init, has none.
func TestFurtherNames(t *testing.T) {
	release := node.Release{Spec: api.DeploymentSpec{Aliases: []string{"my_db"}}}
	task := api.Task{Kind: api.KindDeployment, Scope: "prod", Name: "my-db", Slot: "a"}
	want := []string{"my-db.prod", "my-db.prod.tend", "my-db.prod.voodu", "my_db.prod",
		"my_db.prod.tend", "my_db.prod.voodu"}
	if got := containerSpec(task, release).Aliases; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := initSpec(task, release, api.Init{}, "", 0).Aliases; len(got) > 0 {
		t.Errorf("an init is called %q", got)
	}
	task.Role = api.RoleCommand
	if !containerSpec(task, release).Private {
		t.Error("the command of a release may have the names that docker_options give")
	}
	task.Role, task.Class = api.RoleMain, api.ClassOnce
	if got := containerSpec(task, release).Aliases; len(got) > 0 {
		t.Errorf("what runs once is called %q", got)
	}
}
