package connlimit

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// bench is a bounded listener on loopback, and clients from several of the machine's own addresses.
type bench struct {
	*testing.T
	listener *Listener
	accepted chan net.Conn
}

func newBench(t *testing.T, opts Options) *bench {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, listener: New(inner, opts), accepted: make(chan net.Conn, 64)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := b.listener.Accept()
			if err != nil {
				return
			}
			b.accepted <- conn
		}
	}()
	t.Cleanup(func() { b.listener.Close(); <-done })
	return b
}

func (b *bench) dial(from string) net.Conn {
	b.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.Dial("tcp", b.listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return conn
}

// open dials and returns the server's side of the connection.
func (b *bench) open(from string) net.Conn {
	b.Helper()
	client := b.dial(from)
	select {
	case conn := <-b.accepted:
		if conn.RemoteAddr().String() != client.LocalAddr().String() {
			b.Fatalf("%s was accepted, not %s", conn.RemoteAddr(), client.LocalAddr())
		}
		return conn
	case <-time.After(10 * time.Second):
		b.Fatalf("%s is not accepted", from)
	}
	return nil
}

// refused dials and waits until the server closes the connection.
func (b *bench) refused(from string) {
	b.Helper()
	conn := b.dial(from)
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		b.Fatalf("%s is not refused: %v", from, err)
	}
}

func TestAnAddressGetsHalf(t *testing.T) {
	b := newBench(t, Options{Total: 8})
	var held []net.Conn
	for range 4 {
		held = append(held, b.open("127.0.0.1"))
	}
	b.refused("127.0.0.1")
	b.open("127.0.0.2")
	b.open("127.0.0.2")
	b.refused("127.0.0.2")
	b.open("127.0.0.3")
	for _, conn := range held {
		conn.Close()
		conn.Close() // closing it again frees nothing
	}
	b.open("127.0.0.1")
	b.listener.mu.Lock()
	defer b.listener.mu.Unlock()
	if got := b.listener.held[netip.MustParsePrefix("127.0.0.1/32")]; got != 1 {
		t.Errorf("127.0.0.1 counts %d connections", got)
	}
}

// TestSlowHeadsMakeWay: connections of an address that has its share close for its next ones as long as they have sent
// no request, the oldest first; none does after its first request.
func TestSlowHeadsMakeWay(t *testing.T) {
	b := newBench(t, Options{Total: 8})
	var slow []net.Conn
	for range 4 {
		slow = append(slow, b.open("127.0.0.1"))
		Note(tlsLike{slow[len(slow)-1]}, http.StateNew)
	}
	Note(tlsLike{slow[1]}, http.StateActive)
	for _, oldest := range []int{0, 2, 3} {
		next := b.open("127.0.0.1")
		Note(next, http.StateNew)
		Note(next, http.StateActive)
		if _, err := slow[oldest].Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("connection %d did not make way: %v", oldest, err)
		}
	}
	b.refused("127.0.0.1")
	b.listener.mu.Lock()
	if len(b.listener.waiting) > 0 || b.listener.held[netip.MustParsePrefix("127.0.0.1/32")] != 4 {
		t.Errorf("held %v, waiting %v", b.listener.held, b.listener.waiting)
	}
	b.listener.mu.Unlock()
	slow[1].Close()
	waits := b.open("127.0.0.1")
	Note(waits, http.StateNew)
	waits.Close() // it is closed, so it can't make room for another
	b.open("127.0.0.1")
	b.refused("127.0.0.1")
}

// tlsLike wraps a connection as tls.Conn does.
type tlsLike struct{ net.Conn }

func (c tlsLike) NetConn() net.Conn { return c.Conn }

func TestAnExemptAddressGetsAll(t *testing.T) {
	b := newBench(t, Options{Total: 4, Exempt: func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.9") }})
	for range 4 {
		b.open("127.0.0.9")
	}
}

// TestIdleConnectionsMakeWay: a refused client's next try finds the place of one that idled.
func TestIdleConnectionsMakeWay(t *testing.T) {
	var mu sync.Mutex
	var idle net.Conn
	reclaimed := make(chan struct{}, 8)
	b := newBench(t, Options{Total: 2, Reclaim: func() {
		mu.Lock()
		defer mu.Unlock()
		idle.Close()
		reclaimed <- struct{}{}
	}})
	mu.Lock()
	idle = b.open("127.0.0.1")
	mu.Unlock()
	b.refused("127.0.0.1")
	<-reclaimed
	b.open("127.0.0.1")
}

func TestAFullListenerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		l := New(listenerFunc(func() (net.Conn, error) {
			asked++
			server, client := net.Pipe()
			t.Cleanup(func() { server.Close(); client.Close() })
			return server, nil
		}), Options{Total: 1})
		first, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			second <- err
		}()
		time.Sleep(time.Hour)
		if asked != 1 {
			t.Fatal("a second connection is accepted beyond the total")
		}
		first.Close()
		if err := <-second; err != nil || asked != 2 {
			t.Errorf("after the first one closed: %v", err)
		}
	})
}

func TestClosingEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(listenerFunc(func() (net.Conn, error) { return nil, io.EOF }), Options{Total: 1})
		l.places <- struct{}{}
		ended := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		synctest.Wait()
		l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

// listenerFunc is a listener that accepts what it returns.
type listenerFunc func() (net.Conn, error)

func (f listenerFunc) Accept() (net.Conn, error) { return f() }
func (f listenerFunc) Close() error              { return nil }
func (f listenerFunc) Addr() net.Addr            { return &net.UnixAddr{Name: "test", Net: "unix"} }

func TestClientAddress(t *testing.T) {
	l := New(nil, Options{Total: 1})
	for remote, want := range map[string]string{
		"10.0.0.1":         "10.0.0.1/32",
		"::ffff:10.0.0.1":  "10.0.0.1/32",
		"2001:db8:1:2::77": "2001:db8:1:2::/64",
		"fe80::1":          "fe80::/64",
	} {
		got, ok := l.client(remoteConn{remote: &net.TCPAddr{IP: net.ParseIP(remote), Port: 1}})
		if !ok || got.String() != want {
			t.Errorf("%s counts for %s, want %s", remote, got, want)
		}
	}
	if _, ok := l.client(remoteConn{remote: &net.UnixAddr{}}); ok {
		t.Error("a unix socket's client has a share")
	}
}

type remoteConn struct {
	net.Conn
	remote net.Addr
}

func (c remoteConn) RemoteAddr() net.Addr { return c.remote }

func TestWithin(t *testing.T) {
	for files, want := range map[uint64]int{0: 16, 1024: 256, 65536: 16384, 1 << 30: 16384} {
		if got := Within(files, 4, 16<<10); got != want {
			t.Errorf("%d files: %d connections, want %d", files, got, want)
		}
	}
}

// failing is a listener whose first accepts fail, all of them if there is no connection; then it waits to be closed.
type failing struct {
	net.Listener
	fails  int
	conn   net.Conn
	closed chan struct{}
}

func (f *failing) Accept() (net.Conn, error) {
	switch f.fails--; {
	case f.fails >= 0 || f.conn == nil:
		return nil, &net.OpError{Op: "accept", Err: syscall.ENOBUFS}
	case f.fails == -1:
		return f.conn, nil
	}
	<-f.closed
	return nil, net.ErrClosed
}

func (f *failing) Addr() net.Addr { return &net.UnixAddr{} }

func (f *failing) Close() error {
	close(f.closed)
	return nil
}

// TestAFailedAcceptEndsNoServer: net/http stops serving after most errors of Accept, and nothing starts it again.
func TestAFailedAcceptEndsNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		listener := New(&failing{fails: 3, conn: ours, closed: make(chan struct{})}, Options{Total: 1})
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		ended := make(chan error)
		go func() {
			_, err := listener.Accept()
			ended <- err
		}()
		synctest.Wait()
		listener.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("once it is closed: %v", err)
		}
	})
}

// TestClosingEndsThePauseAfterAFailedAccept: a listener that only fails ends too.
func TestClosingEndsThePauseAfterAFailedAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := New(&failing{closed: make(chan struct{})}, Options{Total: 1})
		ended := make(chan error)
		go func() {
			_, err := listener.Accept()
			ended <- err
		}()
		synctest.Wait()
		listener.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}
