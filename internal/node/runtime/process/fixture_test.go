//go:build linux

package process

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/shim"
)

// bench is one machine with one runtime, for one test.
type bench struct {
	*testing.T
	root string
	rt   *Runtime
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := root(t)
	b := &bench{T: t, root: dir, rt: open(t, dir)}
	image(t, dir, "hello")
	t.Cleanup(b.clean)
	return b
}

func open(t *testing.T, dir string) *Runtime {
	t.Helper()
	rt, err := New(Options{Root: dir, Cluster: "c1", Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func (b *bench) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	listed, err := b.rt.List(ctx)
	if err != nil {
		b.Errorf("list: %v", err)
	}
	for _, container := range listed {
		if err := b.rt.Remove(ctx, container.ID); err != nil {
			b.Error(err)
		}
	}
	_ = b.rt.Close()
}

// reopen opens the runtime again, like a restarted server.
func (b *bench) reopen() {
	b.Helper()
	_ = b.rt.Close()
	b.rt = open(b.T, b.root)
}

func spec(name string, command ...string) runtime.ContainerSpec {
	return runtime.ContainerSpec{
		Name: name, Image: "hello", Restart: "no", Labels: map[string]string{api.LabelTask: "task-" + name},
		Spec: api.DeploymentSpec{Container: api.Container{Image: "hello", Command: command}},
	}
}

func (b *bench) run(s runtime.ContainerSpec) runtime.Container {
	b.Helper()
	c, err := b.rt.Create(b.Context(), s)
	if err == nil {
		err = b.rt.Start(b.Context(), c.ID)
	}
	if err != nil {
		b.Fatal(err)
	}
	return b.inspect(c.ID)
}

func (b *bench) inspect(id string) runtime.Container {
	b.Helper()
	c, err := b.rt.Inspect(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// until waits until wanted reports true for the container.
func (b *bench) until(id, what string, wanted func(runtime.Container) bool) runtime.Container {
	b.Helper()
	var c runtime.Container
	b.wait(what, func() bool {
		c = b.inspect(id)
		return wanted(c)
	})
	return c
}

func (b *bench) wait(what string, holds func() bool) {
	b.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			b.Fatalf("%s did not come", what)
		}
	}
}

func (b *bench) exited(id string) runtime.Container {
	b.Helper()
	return b.until(id, "the end", func(c runtime.Container) bool { return c.State == runtime.StateExited })
}

// output returns the output of a container so far.
func (b *bench) output(id string) string {
	b.Helper()
	reader, err := b.rt.Logs(b.Context(), id, runtime.LogOptions{Tail: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Close()
	var lines []string
	for {
		line, err := reader.Next()
		if err != nil {
			return strings.Join(lines, "\n")
		}
		lines = append(lines, line.Text)
	}
}

// printed waits for the container to print a line with the text, and returns it.
func (b *bench) printed(id, text string) (found string) {
	b.Helper()
	b.wait("output "+text, func() bool {
		for line := range strings.Lines(b.output(id)) {
			if strings.Contains(line, text) {
				found = strings.TrimSpace(line)
				return true
			}
		}
		return false
	})
	return found
}

func (b *bench) shim(id string) int {
	b.Helper()
	dir, _, err := b.rt.find(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	status, err := shim.ReadStatus(dir)
	if err != nil {
		b.Fatal(err)
	}
	return status.Shim.PID
}

func (b *bench) kill(pid int, signal syscall.Signal) {
	b.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		b.Fatalf("kill %d: %v", pid, err)
	}
}

// dead reports whether a process has ended, even if it was not reaped yet.
func dead(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(raw), ") Z ")
}
