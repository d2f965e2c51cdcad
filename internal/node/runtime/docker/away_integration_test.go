//go:build integration

package docker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/docker"
)

// gate is a proxy between a runtime and the engine; while it is closed, the engine can't be reached.
type gate struct {
	path     string
	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
	group    sync.WaitGroup
}

func (g *gate) open(t *testing.T) {
	listener, err := net.Listen("unix", g.path)
	if err != nil {
		t.Fatal(err)
	}
	g.listener = listener
	g.group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			g.pass(conn)
		}
	})
}

func (g *gate) pass(conn net.Conn) {
	engine, err := net.Dial("unix", "/var/run/docker.sock")
	if err != nil {
		_ = conn.Close()
		return
	}
	g.mu.Lock()
	g.conns = append(g.conns, conn, engine)
	g.mu.Unlock()
	for from, to := range map[net.Conn]net.Conn{conn: engine, engine: conn} {
		g.group.Go(func() {
			_, _ = io.Copy(to, from) // ends with either side
			_, _ = conn.Close(), engine.Close()
		})
	}
}

func (g *gate) close() {
	_ = g.listener.Close() // a second close is not an error
	g.mu.Lock()
	for _, conn := range g.conns {
		_ = conn.Close()
	}
	g.mu.Unlock()
	g.group.Wait()
}

func TestEngineGoesAndReturns(t *testing.T) {
	t.Parallel()
	g := &gate{path: filepath.Join(t.TempDir(), "engine.sock")}
	rt, err := docker.New(t.Context(),
		docker.Options{Host: "unix://" + g.path, Cluster: "tendtest-" + random(), Node: "n", NetworkName: network})
	if err != nil {
		t.Fatalf("the test failed because the engine is away: %v", err)
	}
	wantAway(t, rt)
	g.open(t)
	t.Cleanup(g.close)
	t.Cleanup(func() { cleanUp(t, rt) })
	events, err := rt.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, err := rt.Create(t.Context(),
		container(api.DeploymentSpec{Container: api.Container{NetworkMode: "none"}}, "wait"))
	if err != nil {
		t.Fatal(err)
	}
	g.close()
	for range events { // ends because the engine went
	}
	wantAway(t, rt)
	g.open(t)
	if _, err := rt.Inspect(t.Context(), made.ID); err != nil {
		t.Errorf("the engine is back: %v", err)
	}
}

// TestProcessesEndWhileTheEngineIsAway: the machine reports which container ended, and no other.
func TestProcessesEndWhileTheEngineIsAway(t *testing.T) {
	t.Parallel()
	g := &gate{path: filepath.Join(t.TempDir(), "engine.sock")}
	g.open(t)
	t.Cleanup(g.close)
	rt, err := docker.New(t.Context(),
		docker.Options{Host: "unix://" + g.path, Cluster: "tendtest-" + random(), Node: "n", NetworkName: network})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cleanUp(t, rt) })
	for range 2 {
		made, err := rt.Create(t.Context(),
			container(api.DeploymentSpec{Container: api.Container{NetworkMode: "none"}}, "wait"))
		if err != nil {
			t.Fatal(err)
		}
		if err := rt.Start(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
	}
	running, err := rt.List(t.Context())
	if err != nil || len(running) != 2 {
		t.Fatalf("%+v, %v", running, err)
	}
	g.close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan string, 2)
	var watch sync.WaitGroup
	watch.Go(func() { rt.WatchProcesses(ctx, running, func(c runtime.Container) { ended <- c.ID }) })
	if err := syscall.Kill(running[1].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case id := <-ended:
		if id != running[1].ID {
			t.Errorf("%s ended, by what is said; it was %s", id, running[1].ID)
		}
	case <-time.After(time.Minute):
		t.Error("nothing is said of a process that ended")
	}
	cancel()
	watch.Wait()
	if len(ended) > 0 {
		t.Errorf("%s has ended too", <-ended)
	}
	g.open(t)
}

func wantAway(t *testing.T, rt runtime.Runtime) {
	t.Helper()
	ctx := t.Context()
	_, infoErr := rt.Info(ctx)
	_, listErr := rt.List(ctx)
	_, inspectErr := rt.Inspect(ctx, "x")
	_, createErr := rt.Create(ctx, container(api.DeploymentSpec{}, "wait"))
	_, eventsErr := rt.Events(ctx)
	_, resolveErr := rt.Resolve(ctx, "x")
	_, pullErr := rt.Pull(ctx, runtime.PullSpec{Reference: "x"}, nil)
	_, logsErr := rt.Logs(ctx, "x", runtime.LogOptions{})
	_, execErr := rt.Exec(ctx, "x", runtime.ExecOptions{})
	_, statsErr := rt.Stats(ctx, "x")
	for call, err := range map[string]error{
		"info": infoErr, "list": listErr, "inspect": inspectErr, "create": createErr, "events": eventsErr,
		"resolve": resolveErr,
		"pull":    pullErr, "logs": logsErr, "exec": execErr, "stats": statsErr, "start": rt.Start(ctx, "x"),
		"stop":   rt.Stop(ctx, "x", 0),
		"remove": rt.Remove(ctx, "x"),
	} {
		if !errors.Is(err, runtime.ErrUnavailable) {
			t.Errorf("%s without an engine: %v, want ErrUnavailable", call, err)
		}
	}
}
