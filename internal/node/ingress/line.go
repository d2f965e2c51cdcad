package ingress

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// line is a connection to a pod, over which net/http makes one request at a time.
type line struct {
	*net.TCPConn
	raw     syscall.RawConn
	peek    func(fd uintptr) // sets the field nothing
	nothing bool             // whether the kernel has no unread data from the pod

	mu      sync.Mutex
	changed sync.Cond // signals changes of the fields below
	reading bool      // net/http waits for the pod's data: it has consumed everything before
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
	l.peek = func(fd uintptr) {
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

// Read implements net.Conn. It takes data out of the kernel under mu, so that for silent the data is always either in
// the kernel or with net/http.
func (l *line) Read(into []byte) (int, error) {
	l.note(true)
	var n int
	var failed error
	waited := l.raw.Read(func(fd uintptr) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for n, failed = syscall.Read(int(fd), into); failed == syscall.EINTR; {
			n, failed = syscall.Read(int(fd), into)
		}
		l.reading = failed == syscall.EAGAIN
		return !l.reading
	})
	switch {
	case waited != nil:
		l.note(false)
		return 0, waited
	case failed != nil:
		return 0, &net.OpError{Op: "read", Net: "tcp", Addr: l.RemoteAddr(), Err: os.NewSyscallError("read", failed)}
	case n == 0 && len(into) > 0:
		return 0, io.EOF
	}
	return n, nil
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
// the body of an answer that must not have one, would be mistaken for the answer to the next request, which belongs to
// another client. net/http closes a connection for that too, but not if the next request begins in the same moment.
// Call silent between two requests: then net/http continues to read, or closes the connection because there is
// something to read.
func (l *line) silent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.reading && !l.closed {
		l.changed.Wait()
	}
	return !l.closed && l.raw.Control(l.peek) == nil && l.nothing
}
