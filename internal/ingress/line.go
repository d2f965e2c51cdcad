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
	nothing bool             // whether the kernel has no unread data from the pod

	mu      sync.Mutex
	changed sync.Cond // signals changes of the fields below
	reading bool      // net/http waits for data of the pod: it has read everything before
	closed  bool
}

// dialLine dials a connection for http.Transport.
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

// silent reports whether the pod keeps the connection open and has sent nothing unrequested. Unrequested data, such as
// the body of an answer that must not have one, would be taken for the answer to the next request, which belongs to
// another client. net/http closes a connection for that too, but not if the next request begins in the same moment.
// Call silent between two requests: then net/http continues to read, or closes the connection because there is
// something to read.
func (l *line) silent() bool {
	l.mu.Lock()
	for !l.reading && !l.closed {
		l.changed.Wait()
	}
	closed := l.closed
	l.mu.Unlock()
	return !closed && l.raw.Control(l.look) == nil && l.nothing
}
