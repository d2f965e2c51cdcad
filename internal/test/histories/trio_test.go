//go:build integration

package histories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// patience bounds every wait for something that must happen.
const patience = 90 * time.Second

// trio is a cluster of three servers with one store.
type trio struct {
	t       testing.TB
	names   []string
	network *network
	servers map[string]*server
	// recorded counts histories.
	recorded atomic.Int64
}

// server is one of the three, across all its restarts.
type server struct {
	t       testing.TB
	network *network
	role    role
	client  *client.Client
	process *exec.Cmd
	ended   chan struct{}
}

// hosts numbers the hosts with a name of their own, addresses the addresses of this process.
var hosts, addresses atomic.Int32

// address returns an address of this machine that no other test has.
func address(port int) string {
	return fmt.Sprintf("127.%d.%d.%d:%d", 1+os.Getpid()>>8&0x7f, os.Getpid()&0xff, addresses.Add(1)%254+1, port)
}

// newTrio starts three servers. edit may change the role of each before its first start.
func newTrio(t testing.TB, edit func(*role)) *trio {
	t.Helper()
	c := &trio{t: t, names: []string{"a", "b", "c"}, network: newNetwork(t), servers: map[string]*server{}}
	for i, name := range c.names {
		root, err := os.MkdirTemp("", "tend")
		if err != nil {
			t.Fatal(err)
		}
		s := &server{t: t, network: c.network, role: role{Name: name, Root: root, MinFree: -1, NodeListen: address(8688),
			PeerListen: address(2380), PeerAddress: address(2380)}}
		if edit != nil {
			edit(&s.role)
		}
		c.servers[name] = s
		c.network.relay(name, s.role.PeerAddress, s.role.PeerListen)
		if s.client, err = client.New(client.Options{Server: "unix://" + s.socket()}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.remove() })
		if i > 0 {
			token, err := c.servers["a"].client.JoinToken(t.Context(), api.JoinTokenRequest{Role: api.JoinAsServer, Uses: 1000})
			if err != nil {
				t.Fatal(err)
			}
			s.role.Join, s.role.Token = token.Address, token.Token
		}
		s.start()
		c.ready(name)
	}
	return c
}

func (s *server) socket() string { return filepath.Join(s.role.Root, "tend.sock") }

// start begins a life of a server.
func (s *server) start() {
	s.t.Helper()
	text, err := json.Marshal(s.role)
	if err != nil {
		s.t.Fatal(err)
	}
	output, err := os.OpenFile(filepath.Join(s.role.Root, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer output.Close()
	s.process = exec.Command(os.Args[0])
	s.process.Env = append(os.Environ(), roleVariable+"="+string(text), "GOMAXPROCS=2")
	s.process.Stderr, s.process.SysProcAttr = output, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := startLocked(s.process); err != nil {
		s.t.Fatal(err)
	}
	s.network.runs(s.role.Name, s.process.Process.Pid)
	s.ended = make(chan struct{})
	go func(process *exec.Cmd, ended chan struct{}) { _ = process.Wait(); close(ended) }(s.process, s.ended)
}

// startLocked starts a process from a thread that lasts: the kernel ends a process with the thread that started it.
func startLocked(process *exec.Cmd) error {
	requests := spawner()
	done := make(chan error)
	requests <- func() { done <- process.Start() }
	return <-done
}

// kill ends a server between any two instructions.
func (s *server) kill() {
	_ = s.process.Process.Signal(syscall.SIGCONT)
	_ = s.process.Process.Kill()
	<-s.ended
}

// signal stops or continues a server's process.
func (s *server) signal(what syscall.Signal) { _ = s.process.Process.Signal(what) }

func (s *server) lives() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// remove ends a server for good, and prints its log if the test has failed.
func (s *server) remove() {
	if s.process != nil {
		s.kill()
	}
	s.client.Close()
	if s.t.Failed() {
		text, _ := os.ReadFile(filepath.Join(s.role.Root, "log"))
		s.t.Logf("the log of %s ends:\n%s", s.role.Name, text[max(0, len(text)-4000):])
	}
	if err := os.RemoveAll(s.role.Root); err != nil {
		s.t.Error(err)
	}
}

// ready waits until servers are ready.
func (c *trio) ready(names ...string) {
	c.t.Helper()
	for _, name := range names {
		c.until(name+" is ready", func() bool {
			readiness, err := c.servers[name].client.Readiness(context.Background())
			return err == nil && readiness.Ready
		})
	}
}

// leader returns the server whose controllers run, according to another one; "" if that doesn't know.
func (c *trio) leader() string {
	for _, name := range c.names {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		servers, err := c.servers[name].client.Servers(ctx)
		cancel()
		if err != nil || servers.Quorum != "" {
			continue
		}
		for _, one := range servers.Items {
			if one.Leads {
				return one.Name
			}
		}
	}
	return ""
}

// led waits until a server other than others leads, and returns it.
func (c *trio) led(others ...string) (name string) {
	c.t.Helper()
	c.until("one leads", func() bool { name = c.leader(); return name != "" && !slices.Contains(others, name) })
	return name
}

// links returns both directions between a server and others.
func (c *trio) links(of string) (links []link) {
	for _, other := range c.names {
		if other != of {
			links = append(links, link{of, other}, link{other, of})
		}
	}
	return links
}

func (c *trio) until(what string, holds func() bool) {
	c.t.Helper()
	c.within(patience, what, holds)
}

// within is until with another patience.
func (c *trio) within(patience time.Duration, what string, holds func() bool) {
	c.t.Helper()
	if err := waitAtMost(patience, what, holds); err != nil {
		c.t.Fatal(err)
	}
}

var errWaited = errors.New("waited in vain")

// waitFor waits for a condition.
func waitFor(what string, holds func() bool) error { return waitAtMost(patience, what, holds) }

func waitAtMost(patience time.Duration, what string, holds func() bool) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			return fmt.Errorf("%w for: %s", errWaited, what)
		case <-ticker.C:
		}
	}
	return nil
}

// spawner returns a channel of functions, which a thread that never ends calls.
var spawner = sync.OnceValue(func() chan func() {
	requests := make(chan func())
	go func() {
		runtime.LockOSThread()
		for request := range requests {
			request()
		}
	}()
	return requests
})
