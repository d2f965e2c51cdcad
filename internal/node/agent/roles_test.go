package agent

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

func TestAsRole(t *testing.T) {
	whole := node.Release{ID: "v2", Claims: []api.VolumeClaim{{Name: "data"}}, Spec: api.DeploymentSpec{
		Container: api.Container{
			Image: "web:2", Command: []string{"serve"}, Entrypoint: []string{"/init"}, Env: map[string]string{"A": "1"},
			Volumes: []string{"data:/data"}, Networks: []string{"back"}, Hostname: "web",
			DockerOptions: []string{"-p", "80:80", "--cpus=1", "-p81:81", "--publish=82:82", "-P", "--ip", "10.0.0.1", "--init"},
		},
		Ports: []string{"80:80"}, Probes: &api.Probes{}, Inits: []api.Init{{Name: "i"}},
		PostDeploy: []string{"echo 'a b'", "true"},
		Release: &api.ReleaseHooks{PreCommand: []string{"check"}, Command: []string{"migrate", "up"},
			PostCommand: []string{"warm"}},
	}}
	if diff := cmp.Diff(whole, asRole(whole, api.RoleMain)); diff != "" {
		t.Errorf("the workload itself runs the release as it is: %s", diff)
	}
	for role, command := range map[api.TaskRole][]string{
		api.RolePre: {"check"}, api.RoleCommand: {"migrate", "up"}, api.RolePost: {"warm"},
	} {
		want := whole
		want.Claims = nil
		want.Spec.Command, want.Spec.Ports, want.Spec.Probes, want.Spec.Inits, want.Spec.Hostname = command, nil, nil, nil, ""
		want.Spec.DockerOptions = []string{"--cpus=1", "--init"}
		if diff := cmp.Diff(want, asRole(whole, role)); diff != "" {
			t.Errorf("%s: %s", role, diff)
		}
	}
	deploy := asRole(whole, api.RoleDeploy).Spec
	if diff := cmp.Diff([]string{"sh", "-c", `sh -c 'echo '\''a b'\''' && sh -c 'true'`},
		append(deploy.Entrypoint, deploy.Command...)); diff != "" {
		t.Error(diff)
	}
}

// TestScript: the commands run in order, each in a shell of its own, and one that fails ends the script.
func TestScript(t *testing.T) {
	run := func(commands ...string) (string, error) {
		out, err := exec.Command("sh", "-c", script(commands)).Output()
		return string(out), err
	}
	if out, err := run(`echo "it's $((1+1))"`, "cd /; X=1", `echo "$X|) # still here"`); err != nil ||
		out != "it's 2\n|) # still here\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if out, err := run("echo one", "exit 3", "echo two"); err == nil || out != "one\n" {
		t.Errorf("got %q, %v: what follows a failure must not run", out, err)
	}
}
