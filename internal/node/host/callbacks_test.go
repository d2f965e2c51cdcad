package host

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
)

// serving is the listener, and its address.
type serving struct {
	mu     sync.Mutex
	at     string
	starts chan string
}

func (s *serving) serve(ctx context.Context, listener net.Listener) error {
	host, _, _ := net.SplitHostPort(listener.Addr().String())
	s.mu.Lock()
	s.at = host
	s.mu.Unlock()
	s.starts <- host
	<-ctx.Done()
	s.mu.Lock()
	s.at = ""
	s.mu.Unlock()
	return listener.Close()
}

func (s *serving) now() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// The containers' listener opens when there is something to listen for, follows its address, and closes with the
// server.
func TestCallbacksFollowTheirAddress(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	s := &serving{starts: make(chan string)}
	checked, warned := make(chan struct{}), make(chan string, 10)
	var (
		wanted, away atomic.Bool
		addr         atomic.Value
	)
	addr.Store(netip.MustParseAddr("127.0.0.2"))
	c := &callbacks{port: port, serve: s.serve, again: make(chan struct{}),
		warn:   func(msg string, _ ...any) { warned <- msg },
		wanted: func() bool { checked <- struct{}{}; return wanted.Load() },
		addr: func(context.Context) (netip.Addr, error) {
			if away.Load() {
				return netip.Addr{}, errors.New("the engine is away")
			}
			return addr.Load().(netip.Addr), nil
		}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.run(ctx) }()
	check := func() { c.again <- struct{}{}; <-checked }

	<-checked
	away.Store(true)
	wanted.Store(true)
	check()
	<-warned
	away.Store(false)
	check()
	if at := <-s.starts; at != "127.0.0.2" {
		t.Errorf("it listens at %s", at)
	}
	check()
	addr.Store(netip.MustParseAddr("127.0.0.3"))
	check()
	if at := <-s.starts; at != "127.0.0.3" {
		t.Errorf("it listens at %s, want where the gateway is now", at)
	}
	cancel()
	if err := <-ended; err != nil || s.now() != "" || len(warned) > 0 {
		t.Errorf("it ended with %v, at %q, %d warnings", err, s.now(), len(warned))
	}
}

// A container that opens connections and sends nothing leaves room for the others.
func TestOneContainerLeavesConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{Link: Link{Callbacks: http.NotFoundHandler()}, Options: Options{Logger: slog.New(slog.DiscardHandler)}}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.serveContainers(ctx, listener) }()
	silent := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	closed := make(chan error, 2*maxCalls)
	for range maxCalls {
		conn, err := silent.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() {
			_, err := conn.Read(make([]byte, 1))
			closed <- err
		}()
	}
	<-closed // one address gets half of the connections
	response, err := http.Get("http://" + listener.Addr().String() + "/t/x")
	if err != nil {
		t.Fatalf("another container: %v", err)
	}
	response.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
