//go:build linux

package process

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

func TestUnsupported(t *testing.T) {
	tests := map[string]struct {
		reason string
		spec   api.DeploymentSpec
		names  string // the refused fields; empty means accepted
	}{
		"nothing":         {"plain programs are accepted", api.DeploymentSpec{}, ""},
		"our network":     {"every process is reachable on this host", api.DeploymentSpec{Container: api.Container{Networks: []string{"tend0"}}}, ""},
		"host network":    {"a process has the host's network", api.DeploymentSpec{Container: api.Container{NetworkMode: "host"}}, ""},
		"volume in place": {"a process sees the host's path", api.DeploymentSpec{Container: api.Container{Volumes: []string{"/srv:/srv", "/a:/a:rw"}}}, ""},
		"volume moved":    {"nothing can be mounted", api.DeploymentSpec{Container: api.Container{Volumes: []string{"/srv:/data"}}}, "volumes"},
		"volume ro":       {"nothing can be made read-only", api.DeploymentSpec{Container: api.Container{Volumes: []string{"/srv:/srv:ro"}}}, "volumes"},
		"no network":      {"the host's can't be taken away", api.DeploymentSpec{Container: api.Container{NetworkMode: "none"}}, "network_mode"},
		"all at once": {"every field is named", api.DeploymentSpec{
			Container: api.Container{
				Hostname:      "h",
				Network:       "n",
				Networks:      []string{"n"},
				ExtraHosts:    []string{"a:1"},
				CapAdd:        []string{"x"},
				CapDrop:       []string{"x"},
				ReadOnly:      true,
				Tmpfs:         []string{"/t"},
				ShmSize:       "1m",
				Devices:       []string{"/d"},
				DNS:           []string{"1.1.1.1"},
				SecurityOpt:   []string{"x"},
				DockerOptions: []string{"--init"},
			},
		}, "hostname, network, networks, extra_hosts, cap_add, cap_drop, read_only, tmpfs, shm_size, devices, dns, security_opt, docker_options"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := unsupported(runtime.ContainerSpec{Spec: tc.spec})
			var rejected *runtime.RejectedError
			switch {
			case tc.names == "" && err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			case tc.names == "":
			case !errors.As(err, &rejected) || rejected.Reason != "UnsupportedByProcessRuntime" || !strings.HasSuffix(rejected.Detail, " "+tc.names):
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestRefusals: an error in a manifest is reported at create or start, with its reason.
func TestRefusals(t *testing.T) {
	b := newBench(t)
	holder, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	for _, file := range []struct {
		name, content string
		mode          os.FileMode
	}{{"plain", "", 0o644}, {"text", "no program\n", 0o755}, {"script", "#!/nosuch/sh\n", 0o755}} {
		path := filepath.Join(b.root, "images", "hello", file.name)
		if err := os.WriteFile(path, []byte(file.content), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	command := func(words ...string) func(*runtime.ContainerSpec) {
		return func(s *runtime.ContainerSpec) { s.Spec.Command = words }
	}
	says := map[string]string{ // what, where and the next step
		"no program":    "neither the image nor node n1 has a program /nowhere/at-all (correct `command` or `entrypoint`)",
		"not a program": "/plain isn't executable (make it executable (chmod +x), or correct `command`)",
		"text": "/text is not a program for node n1, or is a script without #! " +
			"(correct `command` or `entrypoint`)",
		"script": "/script names an interpreter or a loader that doesn't exist " +
			"(install that, or correct `command` or `entrypoint`)",
		"folder": "neither the image nor node n1 has a folder /nowhere to run in (correct `working_dir`)",
		"user":   "node n1 has no user no-such-user (correct `user`, or give a number such as 1000)",
		"group":  "node n1 has no group no-such-group (correct `user`, or give a number such as 1000)",
		"image": "node n1 has neither a folder nor an OCI layout at /nosuch/image " +
			"(correct `image`: an absolute path, or a name below " + b.rt.opts.Images + ")",
	}
	tests := map[string]struct {
		reason string
		change func(s *runtime.ContainerSpec)
		word   string
	}{
		"no command":    {"a folder names none", func(s *runtime.ContainerSpec) { s.Spec.Command = nil }, "CommandNotFound"},
		"no program":    {"it is nowhere", command("/nowhere/at-all"), "CommandNotFound"},
		"a folder":      {"it can't be run", command("/etc"), "CommandNotFound"},
		"not a program": {"it isn't executable", command("/plain"), "CommandNotExecutable"},
		"text":          {"the kernel can't run it", command("/text"), "CommandNotExecutable"},
		"script":        {"its interpreter is missing", command("/script"), "CommandNotFound"},
		"image":         {"there is no such folder", func(s *runtime.ContainerSpec) { s.Image, s.Spec.Image = "/nosuch/image", "/nosuch/image" }, "ImageNotFound"},
		"folder":        {"it does not exist", func(s *runtime.ContainerSpec) { s.Spec.WorkingDir = "/nowhere" }, "InvalidWorkingDir"},
		"user":          {"no account has that name", func(s *runtime.ContainerSpec) { s.Spec.User = "no-such-user" }, "UserNotFound"},
		"group":         {"no account has that name", func(s *runtime.ContainerSpec) { s.Spec.User = "1:no-such-group" }, "GroupNotFound"},
		"signal":        {"no signal has that name", func(s *runtime.ContainerSpec) { s.Spec.StopSignal = "SIGNAL" }, "InvalidOption"},
		"limit":         {"no limit has that name", func(s *runtime.ContainerSpec) { s.Spec.Ulimits = map[string]string{"files": "1"} }, "InvalidOption"},
		"limit order":   {"soft above hard", func(s *runtime.ContainerSpec) { s.Spec.Ulimits = map[string]string{"nofile": "2:1"} }, "InvalidOption"},
		"restart":       {"no such policy", func(s *runtime.ContainerSpec) { s.Restart = "sometimes" }, "InvalidOption"},
		"confined":      {"it would have the host", func(s *runtime.ContainerSpec) { s.Confined = true }, "UnsupportedByProcessRuntime"},
		"port held":     {"another has it", func(s *runtime.ContainerSpec) { s.Spec.Ports = []string{portOf(holder) + ":80"} }, "PortTaken"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := spec(strings.ReplaceAll(name, " ", "-"), "/server", "wait")
			tc.change(&s)
			c, err := b.rt.Create(t.Context(), s)
			if err == nil {
				err = b.rt.Start(t.Context(), c.ID)
			}
			var rejected *runtime.RejectedError
			if !errors.As(err, &rejected) || rejected.Reason != tc.word || rejected.Next == "" {
				t.Errorf("%s: %v, want %s", tc.reason, err, tc.word)
			}
			if !strings.HasSuffix(err.Error(), says[name]) {
				t.Errorf("%v, want %s", err, says[name])
			}
			if me := fmt.Sprintf("(pid %d)", os.Getpid()); tc.word == "PortTaken" && !strings.Contains(rejected.Detail, me) {
				t.Errorf("%s doesn't name who holds the port: %s", rejected.Detail, me)
			}
		})
	}
}

// TestImagesAreFoldersOfTheMachine: the runtime builds nothing, and neither sends nor receives images.
func TestImagesAreFoldersOfTheMachine(t *testing.T) {
	b := newBench(t)
	_, err := b.rt.Build(t.Context(), runtime.BuildSpec{Tags: []string{"prod-web:a1"}}, func(string) {})
	var rejected *runtime.RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != "UnsupportedByProcessRuntime" || !strings.Contains(rejected.Next, "name its folder in `image`") {
		t.Errorf("a build: %v", err)
	}
	if _, err := b.rt.SaveImage(t.Context(), "sha256:1"); !errors.Is(err, runtime.ErrUnsupported) {
		t.Errorf("an image is sent: %v", err)
	}
	if err := b.rt.LoadImage(t.Context(), "sha256:1", strings.NewReader("")); !errors.Is(err, runtime.ErrUnsupported) {
		t.Errorf("an image is taken: %v", err)
	}
}

// TestRelativeImagesAreOfTheImagesAlone: a relative reference can't name anything outside of the folder of images.
func TestRelativeImagesAreOfTheImagesAlone(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"state", "images/app"} {
		if err := os.MkdirAll(filepath.Join(b.root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for reference, there := range map[string]bool{
		"app": true, "./app": true, "state": false, "../state": false, "process": false, "app/../../state": false, "..": false, ".": false, "": false,
		"images/app": false, "../../../../etc": false,
	} {
		_, err := b.rt.Resolve(t.Context(), reference)
		if there != (err == nil) || err != nil && !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("%q: %v", reference, err)
		}
	}
}

func portOf(listener net.Listener) string {
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

func TestVolumesAreRefused(t *testing.T) {
	var rt Runtime
	var rejected *runtime.RejectedError
	if err := rt.EnsureVolume(t.Context(), "data", nil); !errors.As(err, &rejected) || !strings.Contains(rejected.Error(), "volume_claims") {
		t.Errorf("a volume was not refused by its field: %v", err)
	}
	if err := rt.RemoveVolume(t.Context(), "data", nil); err != nil {
		t.Errorf("removing a volume that can't exist failed: %v", err)
	}
}
