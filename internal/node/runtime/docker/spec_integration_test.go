//go:build integration

package docker_test

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/test/testimage"
)

// cluster is one test's runtime; what it creates is removed at the test's end.
type cluster struct {
	*testing.T
	runtime.Runtime
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	t.Parallel()
	c := cluster{T: t, Runtime: newRuntime(t, "tendtest-"+random())}
	t.Cleanup(func() { cleanUp(t, c.Runtime) })
	return c
}

// container returns a spec of a fresh name that runs the test server.
func container(spec api.DeploymentSpec, args ...string) runtime.ContainerSpec {
	name := "tendtest-" + random() + "." + random()
	spec.Command = append([]string{testimage.Program}, args...)
	return runtime.ContainerSpec{
		Name: name, Image: image, Spec: spec, Restart: "no", Env: map[string]string{"VERSION": "v7"},
		Labels: map[string]string{api.LabelTask: "task-" + name},
	}
}

func (c cluster) start(spec api.DeploymentSpec, args ...string) runtime.Container {
	c.Helper()
	made, err := c.Create(c.Context(), container(spec, args...))
	if err != nil {
		c.Fatal(err)
	}
	if err := c.Start(c.Context(), made.ID); err != nil {
		c.Fatal(err)
	}
	seen, err := c.Inspect(c.Context(), made.ID)
	if err != nil {
		c.Fatal(err)
	}
	return seen
}

// output runs the test server in the container and returns its output.
func (c cluster) output(id string, args ...string) string {
	c.Helper()
	run, err := c.Exec(c.Context(), id, runtime.ExecOptions{Command: append([]string{testimage.Program}, args...)})
	if err != nil {
		c.Fatal(err)
	}
	defer run.Close()
	text, err := io.ReadAll(run.Stdout())
	if err != nil {
		c.Fatal(err)
	}
	return string(text)
}

// patience is the time that a condition may take on a busy machine before the test fails.
const patience = 2 * time.Minute

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(what + " did not come")
		}
	}
}

func dockerCLI(t *testing.T, args ...string) string {
	t.Helper()
	output, err := exec.Command("docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, output)
	}
	return strings.TrimSpace(string(output))
}

func TestFieldsReachTheContainer(t *testing.T) {
	c := newCluster(t)
	run := c.start(api.DeploymentSpec{
		Container: api.Container{
			User:       "1000:1001",
			WorkingDir: "/data",
			Hostname:   "db",
			ShmSize:    "3m",
			Tmpfs:      []string{"/scratch:size=2m,mode=1777"},
			ReadOnly:   true,
			ExtraHosts: []string{"peer:10.9.8.7"},
			Ulimits:    map[string]string{"nofile": "1000:1500"},
			Resources:  &api.Resources{Limits: &api.ResourceLimits{CPU: "500m", Memory: "64Mi"}},
			CapDrop:    []string{"ALL"},
			DNS:        []string{"10.1.2.3"},
			StopSignal: "SIGUSR1",
			Labels:     map[string]string{"team": "a"},
		},
	}, "wait")
	hosts := c.output(run.ID, "cat", "/etc/hosts")
	tests := map[string]struct{ got, want string }{
		"user, directory and hostname": {c.output(run.ID, "id"), "uid=1000 gid=1001 dir=/data host=db"},
		"ulimits":                      {c.output(run.ID, "limits"), ":1500\n"},
		"default ulimits":              {c.output(run.ID, "limits"), "nproc=4096:4096"},
		"shm":                          {c.output(run.ID, "size", "/dev/shm"), fmt.Sprint(3 << 20)},
		"tmpfs":                        {c.output(run.ID, "size", "/scratch"), fmt.Sprint(2 << 20)},
		"extra hosts":                  {hosts, "10.9.8.7\tpeer"},
		"the node's own name":          {hosts, "host.docker.internal"},
		"environment":                  {c.output(run.ID, "env"), "VERSION=v7"},
		"limits": {
			dockerCLI(t, "inspect", "-f",
				"{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}} {{.HostConfig.LogConfig.Type}} {{.HostConfig.LogConfig.Config}}",
				run.ID),
			"67108864 500000000 json-file map[max-file:3 max-size:10m]",
		},
		"label": {run.Labels["team"], "a"},
	}
	for name, test := range tests {
		if !strings.Contains(test.got, test.want) {
			t.Errorf("%s: %q lacks %q", name, test.got, test.want)
		}
	}
	write, err := c.Exec(t.Context(), run.ID,
		runtime.ExecOptions{Command: []string{testimage.Program, "write", "/file", "x"}})
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	if code, err := write.Wait(t.Context()); code == 0 || err != nil {
		t.Errorf("writing to a read-only root ended with %d, %v", code, err)
	}
	if err := c.Stop(t.Context(), run.ID, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if ended, err := c.Inspect(t.Context(), run.ID); err != nil || ended.ExitCode != 0 {
		t.Errorf("stop signal SIGUSR1: exit code %d, %v; want 0", ended.ExitCode, err)
	}
}

func TestPortsAreBoundToLoopback(t *testing.T) {
	c := newCluster(t)
	run := c.start(api.DeploymentSpec{Ports: []string{"8080"}})
	if len(run.Ports) != 1 || run.Ports[0].HostIP != "127.0.0.1" || run.Ports[0].Container != 8080 || run.Address == "" {
		t.Fatalf("container %+v, want one port of loopback and an address", run)
	}
	want := "hello v7 from " + run.Name + "\n"
	for _, at := range []string{fmt.Sprintf("127.0.0.1:%d", run.Ports[0].HostPort), run.Address + ":8080"} {
		eventually(t, at+" answers", func() bool {
			response, err := http.Get("http://" + at)
			if err != nil {
				return false
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if string(body) != want {
				t.Fatalf("answer %q, %v; want %q", body, err, want)
			}
			return true
		})
	}
}

func TestVolumesKeepWhatIsWritten(t *testing.T) {
	c := newCluster(t)
	volume := "tendtest-" + random()
	t.Cleanup(func() { dockerCLI(t, "volume", "rm", volume) })
	host := t.TempDir()
	spec := api.DeploymentSpec{Container: api.Container{Volumes: []string{volume + ":/kept", host + ":/host:ro"}}}
	first := c.start(spec, "wait")
	c.output(first.ID, "write", "/kept/file", "there")
	if err := c.Remove(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	second := c.start(spec, "wait")
	if got := c.output(second.ID, "cat", "/kept/file"); got != "there" {
		t.Errorf("the volume holds %q after its first container went", got)
	}
	if err := c.Remove(t.Context(), second.ID); err != nil {
		t.Fatal(err)
	}
}

func TestNamelessVolumesGoWithTheirContainer(t *testing.T) {
	c := newCluster(t)
	run := c.start(api.DeploymentSpec{Container: api.Container{DockerOptions: []string{"-v", "/nameless"}}}, "wait")
	volume := dockerCLI(t, "inspect", "-f", `{{(index .Mounts 0).Name}}`, run.ID)
	if volume == "" {
		t.Fatal("the container has no volume")
	}
	if err := c.Remove(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if left := dockerCLI(t, "volume", "ls", "-q", "--filter", "name="+volume); left != "" {
		t.Errorf("volume %s was left behind", left)
	}
}

// TestFlagsOldEnginesReadElsewhere: the client library dropped two fields that engines before API 1.44 read.
func TestFlagsOldEnginesReadElsewhere(t *testing.T) {
	c := newCluster(t)
	run := c.start(api.DeploymentSpec{Container: api.Container{DockerOptions: []string{"--mac-address",
		"92:d0:c6:0a:29:33", "-t"}}}, "print", "2")
	if configured := dockerCLI(t, "inspect", "-f", `{{.Config.MacAddress}}`, run.ID); configured != "92:d0:c6:0a:29:33" {
		t.Errorf("configured mac address %q", configured)
	}
	var lines []string
	eventually(t, "two lines of a terminal", func() bool {
		lines = nil
		logs, err := c.Logs(t.Context(), run.ID, runtime.LogOptions{Tail: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer logs.Close()
		for {
			line, err := logs.Next()
			if err != nil {
				return len(lines) == 2
			}
			lines = append(lines, line.Stream+" "+line.Text)
		}
	})
	if lines[0] != "stdout line 1" || lines[1] != "stdout line 2" {
		t.Errorf("a terminal's lines: %q", lines)
	}
}

// TestExecOfNoProgram: the engine's text in place of a command's output is replaced by a sentence.
func TestExecOfNoProgram(t *testing.T) {
	c := newCluster(t)
	run := c.start(api.DeploymentSpec{Container: api.Container{NetworkMode: "none"}}, "wait")
	for _, tty := range []bool{false, true} {
		missing, err := c.Exec(t.Context(), run.ID, runtime.ExecOptions{Command: []string{"bash"}, TTY: tty})
		if err != nil {
			t.Fatal(err)
		}
		defer missing.Close()
		stdout, err := io.ReadAll(missing.Stdout())
		if err != nil {
			t.Fatal(err)
		}
		stderr, err := io.ReadAll(missing.Stderr())
		if err != nil {
			t.Fatal(err)
		}
		code, err := missing.Wait(t.Context())
		want := "error: the image of " + run.Name + " has no program bash (built FROM scratch?); name a program that it has"
		if tty { // two lines for a person
			want = strings.Replace(want, "; ", "\r\n  ", 1)
		}
		if got := strings.TrimSpace(string(stdout) + string(stderr)); got != want || err != nil || code == 0 {
			t.Errorf("terminal %v: %q, exit code %d, %v; want %q", tty, got, code, err, want)
		}
		if !tty && len(stdout) > 0 {
			t.Errorf("it is in the command's output: %q", stdout)
		}
	}
}

func TestTerminal(t *testing.T) {
	c := newCluster(t)
	run := c.start(api.DeploymentSpec{Container: api.Container{NetworkMode: "none"}}, "wait")
	shell, err := c.Exec(t.Context(), run.ID, runtime.ExecOptions{
		Command: []string{testimage.Program, "copy"}, TTY: true, Stdin: true, Width: 100, Height: 30,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer shell.Close()
	if err := shell.Resize(t.Context(), 80, 24); err != nil {
		t.Errorf("resize: %v", err)
	}
	if _, err := io.WriteString(shell.Stdin(), "typed\n\x04"); err != nil { // the terminal's own end of input
		t.Fatal(err)
	}
	output, err := io.ReadAll(shell.Stdout())
	if !strings.Contains(string(output), "typed\r\n") || err != nil {
		t.Errorf("terminal shows %q, %v", output, err)
	}
	if code, err := shell.Wait(t.Context()); code != 0 || err != nil {
		t.Errorf("wait: %d, %v", code, err)
	}
}

// TestOutOfMemory: the engine's flag may be missing if the process ended faster than the notification. The event comes
// either way, unless the process ends faster than the engine's watch (1 of 60 on a machine at load 10).
func TestOutOfMemory(t *testing.T) {
	c := newCluster(t)
	events, err := c.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	limits := &api.Resources{Limits: &api.ResourceLimits{Memory: "16Mi"}}
	run := c.start(api.DeploymentSpec{Container: api.Container{NetworkMode: "none", Resources: limits}}, "eat", "64", "1s")
	var oom, died bool
	deadline := time.After(patience)
	for !oom || !died {
		select {
		case event := <-events:
			oom = oom || (event.Kind == runtime.EventOOM && event.Container == run.ID)
			died = died || (event.Kind == runtime.EventDie && event.ExitCode == 137)
		case <-deadline:
			seen, err := c.Inspect(t.Context(), run.ID)
			t.Fatalf("oom event %v, die event %v; container %+v, %v", oom, died, seen, err)
		}
	}
}
