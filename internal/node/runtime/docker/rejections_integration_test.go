//go:build integration

package docker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/node/runtime"
)

func TestRejections(t *testing.T) {
	c := newCluster(t)
	holder := c.start(api.DeploymentSpec{Ports: []string{"8080"}})
	taken := fmt.Sprintf("127.0.0.1:%d:80", holder.Ports[0].HostPort)
	none := "none"
	says := map[string]string{ // the beginning of the message
		"port":    "port " + strings.TrimSuffix(taken, ":80") + " is in use by container ",
		"command": "the image has no program /nope",
		"path":    "the image has no program nope", "folder": "/data can't be run: it isn't executable, or is a folder",
		"user": "the image has no user nobody-here", "device": "node local has no device /dev/nope",
		"mount":     "the host path /nope/nope does not exist on node local",
		"bind":      "the mount of /etc/hostname puts a file on a folder",
		"ulimit":    "a limit in ulimits is higher than node local allows",
		"memory":    "the memory limit is lower than what Docker needs: 6",
		"cpus":      "the CPU limit is higher than what node local has: ",
		"cap":       "there is no capability CAP_FLY",
		"network":   "the network tendtest-absent doesn't exist on node local",
		"runtime":   "the engine of node local has no runtime nope",
		"sysctl":    "a container can't set the sysctl kernel.nope: ",
		"no sysctl": "the kernel of node local has no sysctl net",
		"directory": "the working directory /server is a file of the image, not a folder",
	}
	tests := map[string]struct {
		reason  string
		spec    api.DeploymentSpec
		command []string
		want    string
	}{
		"port": {"another container holds it", api.DeploymentSpec{Ports: []string{taken}}, nil, "PortTaken"},
		"command": {"the image has no such program", api.DeploymentSpec{Container: api.Container{NetworkMode: none}},
			[]string{"/nope"}, "CommandNotFound"},
		"path": {"nor one in its PATH", api.DeploymentSpec{Container: api.Container{NetworkMode: none}},
			[]string{"nope"}, "CommandNotFound"},
		"folder": {"a folder can't be run", api.DeploymentSpec{Container: api.Container{NetworkMode: none}},
			[]string{"/data"}, "CommandNotExecutable"},
		"user": {"the image has no user of that name",
			api.DeploymentSpec{Container: api.Container{NetworkMode: none, User: "nobody-here"}}, nil, "UserNotFound"},
		"device": {"the node has no such device",
			api.DeploymentSpec{Container: api.Container{NetworkMode: none, Devices: []string{"/dev/nope"}}},
			nil, "DeviceNotFound"},
		"mount": {"--mount makes no folder",
			api.DeploymentSpec{Container: api.Container{NetworkMode: none,
				DockerOptions: []string{"--mount", "type=bind,source=/nope/nope,target=/x"}}}, nil, "MountNotFound"},
		"bind": {"a file can't be mounted on a folder",
			api.DeploymentSpec{Container: api.Container{NetworkMode: none, Volumes: []string{"/etc/hostname:/data"}}},
			nil, "InvalidMount"},
		"ulimit": {"the node allows less",
			api.DeploymentSpec{Container: api.Container{NetworkMode: none, Ulimits: map[string]string{"nofile": "100000"}}},
			nil, "UlimitTooHigh"},
		"memory": {"docker wants 6 MiB at least",
			api.DeploymentSpec{Container: api.Container{NetworkMode: none,
				Resources: &api.Resources{Limits: &api.ResourceLimits{Memory: "1Mi"}}}}, nil, "InvalidOption"},
		"cpus": {"the node has fewer",
			api.DeploymentSpec{Container: api.Container{NetworkMode: none,
				Resources: &api.Resources{Limits: &api.ResourceLimits{CPU: "4096"}}}}, nil, "InvalidOption"},
		"cap": {"there is no such capability",
			api.DeploymentSpec{Container: api.Container{NetworkMode: none, CapAdd: []string{"FLY"}}}, nil, "InvalidOption"},
		"network": {"networks are not ours to make",
			api.DeploymentSpec{Container: api.Container{Networks: []string{"tendtest-absent"}}}, nil, "NetworkNotFound"},
		"runtime": {"the engine has no such runtime",
			api.DeploymentSpec{Container: api.Container{NetworkMode: none, DockerOptions: []string{"--runtime=nope"}}},
			nil, "RuntimeNotFound"},
		"sysctl": {"it is the node's", api.DeploymentSpec{Container: api.Container{NetworkMode: none,
			DockerOptions: []string{"--sysctl=kernel.nope=1"}}}, nil, "InvalidOption"},
		"no sysctl": {"the kernel has none", api.DeploymentSpec{Container: api.Container{
			DockerOptions: []string{"--sysctl=net.nope=1"}}}, nil, "InvalidOption"},
		"flag": {"what is unknown is refused, not dropped",
			api.DeploymentSpec{Container: api.Container{NetworkMode: none, DockerOptions: []string{"--nope"}}},
			nil, "InvalidOption"},
		"directory": {"a file isn't a working directory",
			api.DeploymentSpec{Container: api.Container{NetworkMode: none, WorkingDir: "/server"}}, nil, "InvalidWorkingDir"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := container(test.spec, "wait")
			if test.command != nil {
				spec.Spec.Command = test.command
			}
			made, err := c.Create(t.Context(), spec)
			if err == nil {
				err = c.Start(t.Context(), made.ID)
			}
			var rejected *runtime.RejectedError
			if !errors.As(err, &rejected) || rejected.Reason != test.want || rejected.Next == "" {
				t.Fatalf("%s: %#v (%v), want %s with a next step", test.reason, err, err, test.want)
			}
			if !strings.HasPrefix(rejected.Detail, says[name]) {
				t.Errorf("%q, want %q", rejected.Detail, says[name])
			}
			seen, err := c.Inspect(t.Context(), spec.Name)
			if made.ID == "" && !errors.Is(err, runtime.ErrNotFound) {
				t.Errorf("a create that was refused left %+v, %v", seen, err)
			}
			if made.ID != "" && (seen.State != runtime.StateCreated || seen.Error == "") {
				t.Errorf("a start that was refused left state %s with error %q, want created and the engine's words",
					seen.State, seen.Error)
			}
		})
	}
}

// TestAnErrorThatIsNotKnown of the real engine says what was tried and why it failed, without the parts of the engine
// that the error went through. The agent tries again: another time it may pass.
func TestAnErrorThatIsNotKnown(t *testing.T) {
	c := newCluster(t)
	made, err := c.Create(t.Context(), container(api.DeploymentSpec{Container: api.Container{NetworkMode: "none",
		DockerOptions: []string{"--log-driver=syslog", "--log-opt=syslog-address=tcp://127.0.0.1:1"}}}, "wait"))
	if err != nil {
		t.Fatal(err)
	}
	err = c.Start(t.Context(), made.ID)
	var rejected *runtime.RejectedError
	if err == nil || errors.As(err, &rejected) || !strings.HasPrefix(err.Error(), "start container ") ||
		!strings.Contains(err.Error(), ": failed to initialize logging driver: dial tcp 127.0.0.1:1: ") {
		t.Errorf("%v", err)
	}
}

// TestANameThatAnotherContainerHas: the rejection has the next step, and names the project if Compose made the
// container.
func TestANameThatAnotherContainerHas(t *testing.T) {
	c := newCluster(t)
	for name, tc := range map[string]struct {
		reason, says, next string
		labels             []string
	}{
		"compose": {"the project may be taken over", " by container NAME (service web of the Compose project shop)", "tend adopt compose",
			[]string{"--label", volumes.LabelProject + "=shop", "--label", volumes.LabelService + "=web"}},
		"other": {"it is somebody else's", "container name is taken", "docker rename", nil},
	} {
		spec := container(api.DeploymentSpec{Container: api.Container{NetworkMode: "none"}}, "wait")
		spec.Name = byHand(t, tc.labels...)
		_, err := c.Create(t.Context(), spec)
		var rejected *runtime.RejectedError
		if !errors.Is(err, runtime.ErrNameTaken) || !errors.As(err, &rejected) || rejected.Reason != "NameTaken" {
			t.Fatalf("%s: %s: %v", name, tc.reason, err)
		}
		says := strings.ReplaceAll(tc.says, "NAME", spec.Name)
		if !strings.HasSuffix(rejected.Detail, says) || !strings.Contains(rejected.Next, tc.next) {
			t.Errorf("%s: %s: %q, next %q", name, tc.reason, rejected.Detail, rejected.Next)
		}
	}
}
