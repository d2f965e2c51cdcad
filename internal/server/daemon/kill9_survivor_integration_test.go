//go:build integration

package daemon

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/test/fault"
	"tend.dev/tend/internal/test/testimage"
)

// survivor is a root with a server over it that is restarted after it was killed.
type survivor struct {
	t      *testing.T
	binary string
	root   string
	client *client.Client
	output *diary
	server *exec.Cmd
	ended  chan struct{}
	deaths int
}

func newSurvivor(t *testing.T, binary, point string) *survivor {
	t.Helper()
	root, err := os.MkdirTemp("", "tend")
	if err != nil {
		t.Fatal(err)
	}
	s := &survivor{t: t, binary: binary, root: root, output: &diary{}}
	if s.client, err = client.New(client.Options{Server: "unix://" + filepath.Join(root, "tend.sock")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.clean)
	s.images()
	s.start(fault.EnvCrash + "=" + point)
	return s
}

// images creates two folders of one program.
func (s *survivor) images() {
	program, err := testimage.Binary(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chmod(s.root, 0o711); err != nil { // plain processes are not root: they pass through
		s.t.Fatal(err)
	}
	for _, version := range []string{"v1", "v2"} {
		folder := filepath.Join(s.root, "images", "web-"+version)
		if err := errors.Join(os.MkdirAll(folder, 0o755),
			os.WriteFile(filepath.Join(folder, "web-"+version), content, 0o755)); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *survivor) manifest(version string) api.Object {
	object := manifestOf(web, func(spec *api.DeploymentSpec) {
		replicas(3)(spec)
		name := "web-" + version
		spec.Image, spec.Command = filepath.Join(s.root, "images", name), []string{"/" + name, "wait"}
		spec.Env = map[string]string{"VERSION": version}
	})
	return object
}

func (s *survivor) start(env ...string) {
	s.server = exec.Command(s.binary, "server", "--root", s.root, "--http", "off", "--runtime", "process",
		"--log-level", "debug")
	s.server.Env = append(os.Environ(), env...)
	s.server.Stdout, s.server.Stderr = s.output, s.output
	s.ended = make(chan struct{})
	server, ended := s.server, s.ended
	if err := server.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		_ = server.Wait() // its ProcessState shows the result
		close(ended)
	}()
}

// revive starts the server again if it was killed. It reports whether it did.
func (s *survivor) revive() bool {
	select {
	case <-s.ended:
	default:
		return false
	}
	status, ok := s.server.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || status.Signal() != syscall.SIGKILL {
		s.t.Fatalf("the server ended with %v", s.server.ProcessState)
	}
	s.deaths++
	s.start()
	return true
}

func (s *survivor) declare(what string, say func(ctx context.Context) error) {
	s.t.Helper()
	for {
		s.until("the server is ready to hear: "+what, func(ctx context.Context) bool {
			readiness, err := s.client.Readiness(ctx)
			return err == nil && readiness.Ready
		})
		err := say(s.t.Context())
		if err == nil {
			return
		}
		select { // a killed server's connection is cut before its end is reported
		case <-s.ended:
		case <-time.After(5 * time.Second):
			s.t.Fatalf("%s: %v", what, err)
		}
	}
}

func (s *survivor) until(what string, holds func(ctx context.Context) bool) {
	s.t.Helper()
	deadline := time.NewTimer(2 * patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds(s.t.Context()) {
		select {
		case <-tick.C:
			s.revive()
		case <-deadline.C:
			s.t.Fatalf("in vain: %s", what)
		}
	}
}

// lives returns the versions of the running pods, as the server sees them; nil while it isn't at rest.
func (s *survivor) lives(ctx context.Context) []string {
	object, err := s.client.Object(ctx, web)
	if err != nil {
		return nil
	}
	status, err := api.DecodeStatus[api.WorkloadStatus](object)
	ready := api.FindCondition(status.Conditions, api.ConditionReady)
	if err != nil || ready == nil || ready.Status != api.ConditionTrue {
		return nil
	}
	pods, err := s.client.Pods(ctx, client.PodFilter{})
	if err != nil {
		return nil
	}
	var versions []string
	for _, pod := range pods.Items {
		if !pod.Live() && !pod.State.Terminal() {
			return nil // a container is being stopped
		}
		if pod.Live() && pod.Ready {
			versions = append(versions, pod.Release)
		}
	}
	return versions
}

func (s *survivor) releases() []string {
	s.t.Helper()
	list, err := s.client.Releases(s.t.Context(), client.TargetOf(web))
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, release := range list.Items {
		out = append(out, release.ID+" "+filepath.Base(release.Image))
	}
	slices.Sort(out)
	return out
}

// processes returns the programs of a name that run from below the root; with no name those of every version.
func (s *survivor) processes(name string) []string {
	found, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, link := range found {
		target, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(target, s.root+"/") &&
			strings.HasPrefix(filepath.Base(target), "web-"+strings.TrimPrefix(name, "web-")) {
			out = append(out, filepath.Base(filepath.Dir(link))+" "+target)
		}
	}
	return out
}

// clean ends the server, and the processes that a failed test left running.
func (s *survivor) clean() {
	_ = s.server.Process.Kill()
	<-s.ended
	s.client.Close()
	if s.t.Failed() {
		s.t.Log(s.output.String())
	}
	for len(s.commands()) > 0 { // a shim must end before its program, which it would restart
		for _, pid := range s.commands() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if err := os.RemoveAll(s.root); err != nil {
		s.t.Error(err)
	}
}

// commands returns the processes that were started with a path below the root: shims and programs.
func (s *survivor) commands() []int {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var pids []int
	for _, file := range found {
		line, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(line), s.root+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// buildTend compiles the command once for all, with failpoints.
func buildTend(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "tend")
	out, err := exec.Command("go", "build", "-tags", "failpoints", "-o", binary, "tend.dev/tend/cmd/tend").CombinedOutput()
	if err != nil {
		t.Fatalf("build tend: %v\n%s", err, out)
	}
	return binary
}
