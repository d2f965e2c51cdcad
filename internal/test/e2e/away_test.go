//go:build integration

package e2e

import (
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
)

// relay is a proxy between a server and the engine; while it is shut, the engine can't be reached.
type relay struct {
	t        *testing.T
	path     string
	listener net.Listener
	mu       sync.Mutex
	passing  []net.Conn
	group    sync.WaitGroup
}

func (d *relay) open() {
	d.t.Helper()
	listener, err := net.Listen("unix", d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	d.listener = listener
	d.group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			d.pass(conn)
		}
	})
}

func (d *relay) pass(conn net.Conn) {
	engine, err := net.Dial("unix", "/var/run/docker.sock")
	if err != nil {
		_ = conn.Close()
		return
	}
	d.mu.Lock()
	d.passing = append(d.passing, conn, engine)
	d.mu.Unlock()
	for from, to := range map[net.Conn]net.Conn{conn: engine, engine: conn} {
		d.group.Go(func() {
			_, _ = io.Copy(to, from) // ends with either side
			_, _ = conn.Close(), engine.Close()
		})
	}
}

func (d *relay) shut() {
	_ = d.listener.Close() // a second time is allowed
	d.mu.Lock()
	for _, conn := range d.passing {
		_ = conn.Close()
	}
	d.mu.Unlock()
	d.group.Wait()
}

// TestEngineGoesAndReturns: conditions report it, requests made meanwhile are kept, and all are carried out when the
// engine is back, also the healing of containers that changed behind the shut relay.
func TestEngineGoesAndReturns(t *testing.T) {
	d := &relay{t: t, path: filepath.Join(t.TempDir(), "engine.sock")}
	m := newMachine(t, "--docker-host", "unix://"+d.path).startWithout()
	revision := m.apply(m.manifest("app", replicas(2)))
	m.degraded("app", "EngineUnavailable", "engine.sock")
	d.open()
	t.Cleanup(d.shut)
	m.converged("app", revision)
	victim := m.pods("app")[0].Name
	d.shut()
	m.degraded("app", "EngineUnavailable")
	m.engine("rm", "-f", victim).must()
	grown := m.apply(m.manifest("app", replicas(3)))
	added := m.apply(m.manifest("more"))
	d.open()
	m.converged("app", grown)
	m.converged("more", added)
	m.exactly("app", 3, "v1")
	m.until("the removed container is back under its name",
		func() bool { _, runs := m.running("app")[victim]; return runs })
}

// startWithout starts a server without a reachable engine, and waits until it answers.
func (m *machine) startWithout() *machine {
	m.Helper()
	m.launch("server")
	m.until("the server answers", func() bool {
		_, err := m.client.Version(m.Context())
		return err == nil
	})
	return m
}
