//go:build integration

package agent_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// privateEngine is the test's own dockerd, which may be stopped and killed.
type privateEngine struct {
	t      *testing.T
	folder string
	daemon *exec.Cmd
	output bytes.Buffer
}

func newPrivateEngine(t *testing.T) *privateEngine {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "tendtest-") // short: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	e := &privateEngine{t: t, folder: folder}
	if err := os.WriteFile(filepath.Join(folder, "daemon.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.end(syscall.SIGTERM)
		unmountBelow(t, folder)
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	e.begin()
	return e
}

// unmountBelow unmounts what an engine left mounted: its containers may end a moment after it.
func unmountBelow(t *testing.T, folder string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[1], folder+"/") {
			if err := syscall.Unmount(fields[1], syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
				t.Errorf("unmount %s: %v", fields[1], err)
			}
		}
	}
}

func (e *privateEngine) socket() string { return filepath.Join(e.folder, "docker.sock") }
func (e *privateEngine) host() string   { return "unix://" + e.socket() }

// begin starts the daemon and waits until it answers.
func (e *privateEngine) begin() {
	e.t.Helper()
	e.daemon = exec.Command("dockerd", "--config-file", filepath.Join(e.folder, "daemon.json"),
		"--data-root", filepath.Join(e.folder, "data"), "--exec-root", filepath.Join(e.folder, "exec"), "-H", e.host(),
		"-p", filepath.Join(e.folder, "pid"), "--bridge", "none", "--iptables=false", "--ip-forward=false", "--ip-masq=false",
		"--storage-driver", "vfs")
	e.daemon.Stderr = &e.output
	// A network namespace of its own: an engine without a bridge would take docker0 from the machine's engine.
	e.daemon.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := e.daemon.Start(); err != nil {
		e.t.Fatal(err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", e.socket())
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		if response, err := client.Get("http://engine/_ping"); err == nil {
			_ = response.Body.Close()
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			e.t.Fatalf("the private engine doesn't answer: %s", e.output.String())
		}
	}
}

// untilPrinted waits until a container has printed something.
func (e *privateEngine) untilPrinted(container, text string) {
	e.t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(patience); ; {
		output, err := exec.Command("docker", "--host", e.host(), "logs", container).CombinedOutput()
		if err == nil && strings.Contains(string(output), text) {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			e.t.Fatalf("%s never printed %q: %v %s", container, text, err, output)
		}
	}
}

func (e *privateEngine) end(signal os.Signal) {
	_ = e.daemon.Process.Signal(signal)
	_ = e.daemon.Wait()
}

// TestDockerEngineRestarts stops and starts a real engine under running containers of every policy.
func TestDockerEngineRestarts(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		policy  string
		watched bool
		want    api.TaskState
	}{
		"unless-stopped, agent up":   {"the engine or the agent brings it back", "unless-stopped", true, api.TaskRunning},
		"unless-stopped, agent down": {"the engine brings it back", "unless-stopped", false, api.TaskRunning},
		"no, agent up":               {"it ended with the engine, not by itself", "no", true, api.TaskRunning},
		"no, agent down":             {"why it ended is unknown: as an exit", "no", false, api.TaskComplete},
	} {
		t.Run(name, func(t *testing.T) {
			engine := newPrivateEngine(t)
			m := newMachine(t, engine.host())
			m.start()
			defer func() { m.stop() }()
			task := m.deploy(tc.policy, testimage.Program, "wait")
			before := m.untilRunning(task)
			engine.untilPrinted(before.Container, "waiting") // before, a signal would pass the program by
			if !tc.watched {
				m.stop()
			}
			engine.end(syscall.SIGTERM)
			engine.begin()
			if !tc.watched {
				m.start()
			}
			after := m.until(task, tc.reason, func(s api.TaskStatus) bool {
				return s.State.Terminal() || s.Ready && s.Reason == "" && s.Incarnations > before.Incarnations
			})
			if after.State != tc.want || after.Container != before.Container || len(after.Exits) != 0 {
				t.Errorf("%s: %+v", tc.reason, after)
			}
		})
	}
}
