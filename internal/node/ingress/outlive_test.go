package ingress

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"

	"tend.dev/tend/internal/platform/servicemanager"
)

// TestASocketThatIsKeptOpen: a client that connects between two servers waits for the second, and is not refused.
func TestASocketThatIsKeptOpen(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	listener.Close()
	sockets := servicemanager.Handed(slog.New(slog.DiscardHandler), []*os.File{socket})
	proxy := New(Options{Hold: -1})
	serve := func() (stop func()) {
		changed := make(chan struct{}, 16)
		l := NewListeners(ListenOptions{
			HTTP: address, HTTPS: "127.0.0.1:0", Handler: proxy, Sockets: sockets, Changed: func() { changed <- struct{}{} },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		l.Want(false, false) // nothing to serve: the socket is open all the same
		for plain, _ := l.States(); !plain.Open; plain, _ = l.States() {
			<-changed
		}
		if _, secure := l.States(); secure.Wanted {
			t.Error("another listener is wanted")
		}
		return func() { cancel(); <-done }
	}
	stop := serve()
	if got := get(t, address, ""); got != "404" {
		t.Errorf("no pod serves the host: %q", got)
	}
	stop()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, plainGet)
	proxy.Update([]Route{{Ingress: shop, Host: "shop.org", Pods: []Pod{podOf(t, "p", says("hello"))}}})
	defer serve()()
	if response, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || response.StatusCode != 200 {
		t.Errorf("who waited: %v %v", response, err)
	}
}

// TestListenersEndTheirSockets: a process that ends leaves its sockets to the next one; unwanted ones are closed.
func TestListenersEndTheirSockets(t *testing.T) {
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: t.TempDir() + "/notify", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", manager.LocalAddr().String())
	sockets := servicemanager.Handed(slog.New(slog.DiscardHandler), nil)
	// begin starts the listeners of one process, and waits until the plain one is open.
	begin := func(at string) (l *Listeners, until func(open bool) string, stop func()) {
		changed := make(chan struct{}, 16)
		l = NewListeners(ListenOptions{HTTP: at, Handler: New(Options{Hold: -1}), Sockets: sockets,
			Changed: func() { changed <- struct{}{} }})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		l.Want(true, false)
		return l, func(open bool) string {
			for {
				if plain, _ := l.States(); plain.Open == open {
					return plain.Address
				}
				<-changed
			}
		}, func() { cancel(); <-done }
	}
	_, until, stop := begin("127.0.0.1:0")
	address := until(true)
	stop()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal("between two processes:", err)
	}
	conn.Close()
	l, until, stop := begin(address)
	defer stop()
	until(true)
	l.Want(false, false)
	until(false)
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("who connects waits for ever: nobody wants the listener any more")
	}
}
