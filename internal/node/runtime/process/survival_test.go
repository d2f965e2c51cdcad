//go:build linux

package process

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/shim"
)

// family is a program with one child in its session and one in a session of its own. It prints their process ids.
const family = `sleep 1000 & echo near $!; setsid sleep 1000 & echo far $!; wait`

func (b *bench) relatives(id string) (near, far int) {
	b.Helper()
	number := func(word string) int {
		n, err := strconv.Atoi(strings.TrimPrefix(b.printed(id, word+" "), word+" "))
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	return number("near"), number("far")
}

// TestServerKilled: a killed server leaves its container running. The next server finds the container, its events, its
// logs and its exit.
func TestServerKilled(t *testing.T) {
	b := newBench(t)
	server := exec.CommandContext(t.Context(), "/proc/self/exe")
	server.Env = append(os.Environ(), serverRoot+"="+b.root)
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	id, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	b.kill(server.Process.Pid, syscall.SIGKILL)
	_ = server.Wait()

	b.reopen()
	id = strings.TrimSpace(id)
	before := b.inspect(id)
	if before.State != runtime.StateRunning || before.RestartCount != 0 {
		t.Fatalf("after the server's end: %+v", before)
	}
	b.printed(id, "waiting")
	events, err := b.rt.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.rt.Stop(t.Context(), id, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	for _, want := range []runtime.EventKind{runtime.EventKill, runtime.EventDie, runtime.EventStop} {
		if event := <-events; event.Kind != want {
			t.Errorf("event %s, want %s", event.Kind, want)
		}
	}
	b.printed(id, "got terminated")
}

const serverRoot = "TEND_TEST_SERVER_ROOT"

// beServer runs as the other process of TestServerKilled.
func beServer(dir string) error {
	rt, err := New(Options{Root: dir, Cluster: "c1", Node: "n1"})
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, err := rt.Create(ctx, spec("kept", "/server", "wait"))
	if err == nil {
		err = rt.Start(ctx, c.ID)
	}
	if err != nil {
		return err
	}
	_, _ = os.Stdout.WriteString(c.ID + "\n")
	select {}
}

// TestRestartWhileAway: the restart policy works while no server runs.
func TestRestartWhileAway(t *testing.T) {
	b := newBench(t)
	s := spec("a", "/server", "wait")
	s.Restart = "unless-stopped"
	c := b.run(s)
	_ = b.rt.Close()
	b.kill(c.PID, syscall.SIGKILL)
	b.rt = open(t, b.root)
	again := b.until(c.ID, "a restart", func(now runtime.Container) bool {
		return now.State == runtime.StateRunning && now.PID != c.PID
	})
	if again.RestartCount != 1 {
		t.Errorf("restarted %d times", again.RestartCount)
	}
}

// TestShimKilled: a container whose shim is killed dies with everything it started, and the runtime reports it.
func TestShimKilled(t *testing.T) {
	b := newBench(t)
	s := spec("a", "sh", "-c", family)
	s.Restart = "always"
	c := b.run(s)
	near, far := b.relatives(c.ID)
	events, err := b.rt.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.kill(b.shim(c.ID), syscall.SIGKILL)
	select {
	case event := <-events:
		if event.Kind != runtime.EventDie || event.ExitCode != 137 || event.Container != c.ID {
			t.Errorf("event %+v", event)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no event")
	}
	if now := b.inspect(c.ID); now.State != runtime.StateExited || now.ExitCode != 137 || now.FinishedAt.IsZero() {
		t.Errorf("after its shim: %+v", now)
	}
	for _, pid := range []int{c.PID, near, far} {
		b.wait("death of "+strconv.Itoa(pid), func() bool { return dead(pid) })
	}
	if err := b.rt.Start(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	if now := b.inspect(c.ID); now.State != runtime.StateRunning {
		t.Errorf("started again: %+v", now)
	}
}

// TestShimKilledWhileAway: the next server reports the death of a shim, and kills what the shim left behind.
func TestShimKilledWhileAway(t *testing.T) {
	b := newBench(t)
	c := b.run(spec("a", "sh", "-c", family))
	near, far := b.relatives(c.ID)
	pid := b.shim(c.ID)
	_ = b.rt.Close()
	b.kill(pid, syscall.SIGKILL)
	b.wait("the program's death", func() bool { return dead(c.PID) })
	b.rt = open(t, b.root)
	if now := b.inspect(c.ID); now.State != runtime.StateExited || now.ExitCode != 137 {
		t.Errorf("after its shim: %+v", now)
	}
	b.wait("the relatives' death", func() bool { return dead(near) && dead(far) })
}

// TestFamilyEnds: no process that a program started outlives it, whether it is stopped or ends by itself.
func TestFamilyEnds(t *testing.T) {
	tests := map[string]struct {
		reason string
		end    func(b *bench, c runtime.Container)
	}{
		"stop": {"a stop reaches all", func(b *bench, c runtime.Container) {
			if err := b.rt.Stop(b.Context(), c.ID, 0); err != nil {
				b.Fatal(err)
			}
		}},
		"death": {"a container is its program", func(b *bench, c runtime.Container) {
			b.kill(c.PID, syscall.SIGKILL)
			b.exited(c.ID)
		}},
		"remove": {"a removal is a kill", func(b *bench, c runtime.Container) {
			if err := b.rt.Remove(b.Context(), c.ID); err != nil {
				b.Fatal(err)
			}
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			c := b.run(spec("a", "sh", "-c", family))
			near, far := b.relatives(c.ID)
			tc.end(b, c)
			if !dead(near) || !dead(far) {
				t.Errorf("%s: near is dead %v, far is dead %v", tc.reason, dead(near), dead(far))
			}
		})
	}
}

// TestReboot: a container that ran at a reboot is exited, and starts again on request.
func TestReboot(t *testing.T) {
	b := newBench(t)
	s := spec("a", "/server", "wait")
	s.Restart = "unless-stopped"
	c := b.run(s)
	_ = b.rt.Close()
	b.kill(b.rebooted(c.ID), syscall.SIGKILL)
	b.rt = open(t, b.root)
	if now := b.inspect(c.ID); now.State != runtime.StateExited || now.ExitCode != 137 {
		t.Errorf("after the reboot: %+v", now)
	}
	if err := b.rt.Start(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	if now := b.inspect(c.ID); now.State != runtime.StateRunning || now.RestartCount != 0 {
		t.Errorf("started again: %+v", now)
	}
}

// rebooted changes a status so that it names the previous boot, and a process id that another process has now.
func (b *bench) rebooted(id string) (shimPID int) {
	b.Helper()
	dir := filepath.Join(b.root, "process", "containers", id)
	status, err := shim.ReadStatus(dir)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "status.json")
	raw, err := os.ReadFile(path)
	if err == nil {
		old := strings.Replace(string(raw), status.Shim.Boot, "00000000-0000-0000-0000-000000000000", 1)
		err = os.WriteFile(path, []byte(old), 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	return status.Shim.PID
}

// TestShutdown: a shim that gets the machine's shutdown signal stops its program, and no policy restarts it.
func TestShutdown(t *testing.T) {
	b := newBench(t)
	s := spec("a", "/server", "wait")
	s.Restart = "always"
	c := b.run(s)
	b.printed(c.ID, "waiting")
	b.kill(b.shim(c.ID), syscall.SIGTERM)
	if now := b.exited(c.ID); now.ExitCode != 0 {
		t.Errorf("exit code %d, want the program's own", now.ExitCode)
	}
	b.printed(c.ID, "got terminated")
}

// TestCutOff: a half created or half removed folder of a killed server doesn't count as a container, and is swept up.
func TestCutOff(t *testing.T) {
	b := newBench(t)
	c := b.run(spec("a", "/server", "exit", "0"))
	b.exited(c.ID)
	containers := filepath.Join(b.root, "process", "containers")
	for _, name := range []string{".new-1", ".old-" + c.ID} {
		if err := os.Mkdir(filepath.Join(containers, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if listed, err := b.rt.List(t.Context()); err != nil || len(listed) != 1 {
		t.Errorf("listed %v, %v", listed, err)
	}
	b.reopen()
	if entries, err := os.ReadDir(containers); err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
}
