//go:build linux

package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/shim"
)

// TestPorts: every container has its own port, finds it in its environment, answers on it and keeps it.
func TestPorts(t *testing.T) {
	b := newBench(t)
	plain, published := spec("a", "/server"), spec("b", "/server")
	published.Spec.Ports = []string{"8080", "9090/udp"}
	one, two := b.run(plain), b.run(published)
	if len(one.Ports) != 1 || len(two.Ports) != 2 || two.Ports[0].Container != 8080 || two.Ports[1].Protocol != "udp" {
		t.Fatalf("ports %v, %v", one.Ports, two.Ports)
	}
	if one.Ports[0].HostPort == two.Ports[0].HostPort {
		t.Errorf("both have port %d", one.Ports[0].HostPort)
	}
	b.answers(one)
	b.answers(two)
	if err := b.rt.Stop(t.Context(), two.ID, time.Second); err != nil {
		t.Fatal(err)
	}
	if ports := b.inspect(two.ID).Ports; len(ports) != 0 {
		t.Errorf("a stopped container has ports %v", ports)
	}
	b.reopen()
	if err := b.rt.Start(t.Context(), two.ID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(two.Ports, b.inspect(two.ID).Ports); diff != "" {
		t.Error("ports changed:", diff)
	}
}

func (b *bench) answers(c runtime.Container) {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	b.wait("an answer", func() bool {
		response, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", c.Ports[0].HostPort))
		if err != nil {
			return false
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return err == nil && strings.HasPrefix(string(body), "hello")
	})
}

// TestUser: programs run as root only if they are declared to.
func TestUser(t *testing.T) {
	b := newBench(t)
	want := map[string]string{
		"":        fmt.Sprintf("uid=%d gid=%d ", os.Getuid(), os.Getgid()),
		"root":    "uid=0 gid=0 ",
		"12:34":   "uid=12 gid=34 ",
		"4294967": "uid=4294967 gid=4294967 ",
	}
	if os.Getuid() == 0 {
		account, err := b.rt.account("", "")
		if err != nil || account.user == nil {
			t.Fatalf("account %+v, %v", account, err)
		}
		want[""] = fmt.Sprintf("uid=%d gid=%d ", account.user.UID, account.user.GID)
	}
	for user, line := range want {
		s := spec("u"+user, "/server", "id")
		s.Spec.User = user
		c, err := b.rt.Create(t.Context(), s)
		if err != nil && os.Getuid() != 0 && user != "" {
			var rejected *runtime.RejectedError
			if !errors.As(err, &rejected) || rejected.Reason != "UserNotAllowed" {
				t.Errorf("user %s: %v", user, err)
			}
			continue
		}
		if err == nil {
			err = b.rt.Start(t.Context(), c.ID)
		}
		if err != nil {
			t.Fatalf("user %q: %v", user, err)
		}
		b.printed(c.ID, line)
	}
}

// TestLimits: ulimits reach the program exactly, and its user and exit code are unaffected.
func TestLimits(t *testing.T) {
	b := newBench(t)
	// A shell, because a Go program raises its own soft limit.
	s := spec("a", "sh", "-c", "echo nofile=$(ulimit -Sn):$(ulimit -Hn); echo nproc=$(ulimit -Su 2>/dev/null || ulimit -Sp):")
	s.Spec.Ulimits = map[string]string{"nofile": "100:200", "nproc": "300"}
	c := b.run(s)
	b.printed(c.ID, "nofile=100:200")
	b.printed(c.ID, "nproc=300:")
	if now := b.exited(c.ID); now.ExitCode != 0 {
		t.Errorf("exit code %d", now.ExitCode)
	}
	who := spec("b", "/server", "id")
	who.Spec.Ulimits = s.Spec.Ulimits
	plain := b.run(spec("c", "/server", "id"))
	b.exited(plain.ID)
	limited := b.run(who)
	b.exited(limited.ID)
	if with, without := b.output(limited.ID), b.output(plain.ID); with != without {
		t.Errorf("with limits %q, without %q", with, without)
	}
}

// TestMemory: a limit is enforced and reported as enforced, or the runtime warns that it can't enforce it.
func TestMemory(t *testing.T) {
	b := newBench(t)
	if enforced, _ := shim.Limits(); !enforced {
		info, err := b.rt.Info(t.Context())
		if err != nil || !slices.ContainsFunc(info.Warnings, func(w string) bool { return strings.HasPrefix(w, "memory limits") }) {
			t.Fatalf("no warning in %v, %v", info.Warnings, err)
		}
		return
	}
	events, err := b.rt.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := spec("a", "/server", "eat", "64")
	s.Spec.Resources = &api.Resources{Limits: &api.ResourceLimits{Memory: "24Mi", CPU: "0.5"}}
	c := b.run(s)
	if now := b.exited(c.ID); !now.OOMKilled || now.ExitCode != 137 {
		t.Errorf("ended %+v", now)
	}
	for event := range events {
		if event.Kind == runtime.EventOOM {
			break
		}
		if event.Kind == runtime.EventDie {
			t.Fatal("died without an oom event")
		}
	}
	if err := b.rt.Remove(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob("/sys/fs/cgroup/*/tend-process/" + c.ID)
	if err != nil || len(left) > 0 {
		t.Errorf("control groups left: %v", left)
	}
}

// TestPinned: a container runs the image that its release was made from, even if the folder has changed since.
func TestPinned(t *testing.T) {
	b := newBench(t)
	old, err := b.rt.Resolve(t.Context(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.rt.Resolve(t.Context(), "hello"); err != nil || again != old {
		t.Errorf("resolved again: %+v, %v", again, err)
	}
	if err := os.WriteFile(filepath.Join(b.root, "images", "hello", "server"), []byte("#!/bin/sh\necho changed\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	changed, err := b.rt.Resolve(t.Context(), "hello")
	if err != nil || changed.ID == old.ID {
		t.Fatalf("resolved %+v, %v", changed, err)
	}
	pinned := spec("a", "/server", "wait")
	pinned.ImageID = old.ID
	c := b.run(pinned)
	b.printed(c.ID, "waiting")
	b.printed(b.run(spec("b", "/server")).ID, "changed")
}

// TestTerminal runs a command on a terminal of the requested size.
func TestTerminal(t *testing.T) {
	b := newBench(t)
	c := b.run(spec("a", "/server", "wait"))
	exec, err := b.rt.Exec(t.Context(), c.ID, runtime.ExecOptions{
		Command: []string{"sh", "-c", "test -t 0 && stty size; read line; echo got $line; exit 4"}, TTY: true, Stdin: true, Width: 77, Height: 33,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Close()
	if _, err := io.WriteString(exec.Stdin(), "this\n"); err != nil {
		t.Fatal(err)
	}
	output, err := io.ReadAll(exec.Stdout())
	if err != nil || !strings.Contains(string(output), "33 77") || !strings.Contains(string(output), "got this") {
		t.Errorf("output %q, %v", output, err)
	}
	if code, err := exec.Wait(t.Context()); code != 4 || err != nil {
		t.Errorf("code %d, %v", code, err)
	}
}

// TestExecNamesAMissingProgram as it was asked for, without a path of the runtime's own.
func TestExecNamesAMissingProgram(t *testing.T) {
	b := newBench(t)
	c := b.run(spec("a", "/server", "wait"))
	for _, program := range []string{"nothere", "/no/where"} {
		_, err := b.rt.Exec(t.Context(), c.ID, runtime.ExecOptions{Command: []string{program}})
		want := "neither the image of a nor node n1 has a program " + program
		var refused *runtime.RejectedError
		if !errors.As(err, &refused) || refused.Detail != want {
			t.Errorf("%s: the answer is %v, want %s", program, err, want)
		}
	}
}

// TestExecEnds: a command ends when its container ends or its caller goes away.
func TestExecEnds(t *testing.T) {
	b := newBench(t)
	c := b.run(spec("a", "/server", "wait"))
	run := func() runtime.Exec {
		exec, err := b.rt.Exec(t.Context(), c.ID, runtime.ExecOptions{Command: []string{"sleep", "1000"}})
		if err != nil {
			t.Fatal(err)
		}
		return exec
	}
	abandoned, kept := run(), run()
	if err := abandoned.Close(); err != nil {
		t.Error(err)
	}
	if err := b.rt.Stop(t.Context(), c.ID, 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if code, err := kept.Wait(ctx); code != 137 || err != nil {
		t.Errorf("code %d, %v", code, err)
	}
	_ = kept.Close()
}

// TestAClosedCommandEndsWithItsJobs: jobs of a shell have groups of their own.
func TestAClosedCommandEndsWithItsJobs(t *testing.T) {
	b := newBench(t)
	c := b.run(spec("a", "/server", "wait"))
	shell, err := b.rt.Exec(t.Context(), c.ID, runtime.ExecOptions{
		TTY: true, Command: []string{"sh", "-c", "set -m; nohup sleep 1000 >/dev/null 2>&1 & echo $!; wait"},
	})
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(shell.Stdout()).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Close(); err != nil {
		t.Error(err)
	}
	b.wait("the job ends", func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(line) + "/stat")
		return err != nil || bytes.Contains(stat, []byte(") Z "))
	})
}

// TestStopSignal: the declared signal is sent first, and reported.
func TestStopSignal(t *testing.T) {
	b := newBench(t)
	s := spec("a", "/server", "wait")
	s.Spec.StopSignal = "SIGUSR1"
	c := b.run(s)
	b.printed(c.ID, "waiting")
	events, err := b.rt.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.rt.Stop(t.Context(), c.ID, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if event := <-events; event.Kind != runtime.EventKill || event.Signal != "SIGUSR1" {
		t.Errorf("event %+v", event)
	}
	b.printed(c.ID, "got user defined signal 1")
}

// TestShorterGrace: a second stop with a shorter grace period wins over the first.
func TestShorterGrace(t *testing.T) {
	b := newBench(t)
	c := b.run(spec("a", "/server", "ignore-term"))
	b.printed(c.ID, "ignoring")
	first := make(chan error, 1)
	go func() { first <- b.rt.Stop(t.Context(), c.ID, time.Hour) }()
	if err := b.rt.Remove(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-first; err != nil {
		t.Errorf("the first stop: %v", err)
	}
}

// TestLogBounds: output beyond the bounds replaces the oldest.
func TestLogBounds(t *testing.T) {
	b := newBench(t)
	s := spec("a", "/server", "print", "200", "100")
	files := 2
	s.Spec.Logs = &api.Logs{MaxSize: "2k", MaxFiles: &files}
	c := b.run(s)
	b.exited(c.ID)
	lines := strings.Split(b.output(c.ID), "\n")
	if len(lines) > 40 || !strings.HasPrefix(lines[len(lines)-1], "line ") {
		t.Errorf("%d lines kept, the last is %q", len(lines), lines[len(lines)-1])
	}
	dir, _, err := b.rt.find(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "record.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the record is open to others: %v, %v", info, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is open to others: %v, %v", info, err)
	}
}
