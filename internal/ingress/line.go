package ingress

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// line is a connection to a pod, over which net/http makes one request at a time.
type line struct {
	*net.TCPConn
	raw     syscall.RawConn
	look    func(fd uintptr) // sets the next
	nothing bool             // whether the kernel holds nothing of what the pod said

	mu      sync.Mutex
	changed sync.Cond // of what follows
	reading bool      // net/http waits for what the pod says: all that it said before is taken in
	closed  bool
}

// dialLine makes a connection for http.Transport.
func dialLine(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l := &line{TCPConn: conn.(*net.TCPConn)}
	l.changed.L = &l.mu
	l.look = func(fd uintptr) {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		l.nothing = err == syscall.EAGAIN || err == syscall.EINTR
	}
	if l.raw, err = l.SyscallConn(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return l, nil
}

// Read implements net.Conn.
func (l *line) Read(into []byte) (int, error) {
	l.note(true)
	defer l.note(false)
	return l.TCPConn.Read(into)
}

func (l *line) note(reading bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reading = reading
	if reading {
		l.changed.Broadcast()
	}
}

// Close implements net.Conn.
func (l *line) Close() error {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	return l.TCPConn.Close()
}

// silent says that the pod keeps the connection open and said nothing that nobody asked for. What it did say, such as the body of
// an answer that has none, would be taken for the answer to the next request: another client's. net/http closes a connection for
// that too, but not where the next request begins in the same moment. It is asked between two requests: there net/http reads on,
// or closes the connection since there is something to read.
func (l *line) silent() bool {
	l.mu.Lock()
	for !l.reading && !l.closed {
		l.changed.Wait()
	}
	closed := l.closed
	l.mu.Unlock()
	return !closed && l.raw.Control(l.look) == nil && l.nothing
}
