package ingress

import (
	"bufio"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// How many idle connections to one pod are kept, and for how long.
const (
	maxIdleLinks = 256
	idleLinkLife = 60 * time.Second
)

// longestAnswerHead is how much of an answer is read to find its head.
const longestAnswerHead = 16 << 10

// link is a connection to a pod.
type link struct {
	net.Conn
	raw    syscall.RawConn
	reader *bufio.Reader
	// stalled is called where the pod lets a read wait for longer than patience; nil where nobody wants to know, or knows.
	stalled func()
	// limit is how long a read may take beyond patience; 0 is for ever.
	limit time.Duration
	used  time.Time
}

// patience is how long a pod may take to say something until somebody looks whether its client is still there.
const patience = 50 * time.Millisecond

// Read reads from the pod, telling once when it takes long.
func (l *link) Read(into []byte) (int, error) {
	if l.stalled == nil {
		return l.Conn.Read(into)
	}
	if err := l.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	n, err := l.Conn.Read(into)
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	until := time.Time{}
	if l.limit > 0 {
		until = time.Now().Add(l.limit)
	}
	if err := l.SetReadDeadline(until); err != nil {
		return 0, err
	}
	l.stalled()
	l.stalled = nil
	return l.Conn.Read(into)
}

// begun says that an answer has begun: it may take as long as it likes.
func (l *link) begun() error {
	l.limit = 0
	if l.stalled == nil {
		return l.SetReadDeadline(time.Time{})
	}
	return nil
}

// silent says that the pod keeps the connection open and said nothing that nobody asked for. What it did say, such as the body
// of an answer that has none, would be taken for the answer to the next request: another client's.
func (l *link) silent() bool {
	var err error
	looked := l.raw.Control(func(fd uintptr) {
		var one [1]byte
		_, _, err = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return looked == nil && (err == syscall.EAGAIN || err == syscall.EINTR)
}

// links are the idle connections to a pod, the last used one last.
type links struct {
	mu     sync.Mutex
	idle   []*link
	closed bool
}

// get takes an idle connection out that can be used; nil where there is none.
func (l *links) get(now time.Time) *link {
	for {
		one := l.last(now)
		if one == nil || one.silent() {
			return one
		}
		_ = one.Close()
	}
}

// last takes the last one out; nil where there is none.
func (l *links) last(now time.Time) *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.idle) - 1
	if last < 0 || now.Sub(l.idle[last].used) > idleLinkLife {
		l.drop(len(l.idle))
		return nil
	}
	out := l.idle[last]
	l.idle[last] = nil
	l.idle = l.idle[:last]
	return out
}

// put keeps a connection for another request, and closes those that nobody has used for long.
func (l *links) put(one *link, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.idle) >= maxIdleLinks {
		_ = one.Close()
		return
	}
	old := 0
	for old < len(l.idle) && now.Sub(l.idle[old].used) > idleLinkLife {
		old++
	}
	l.drop(old)
	one.used = now
	l.idle = append(l.idle, one)
}

// drop closes the n connections that were used longest ago. The caller holds mu.
func (l *links) drop(n int) {
	for _, one := range l.idle[:n] {
		_ = one.Close()
	}
	if n > 0 {
		l.idle = append(l.idle[:0], l.idle[n:]...)
	}
}

// close closes those that are idle, and from now on each that is put.
func (l *links) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(len(l.idle))
	l.closed = true
}

// open lets connections be kept again.
func (l *links) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = false
}

// dial makes a new connection to a pod.
func (p *pod) dial() (*link, error) {
	conn, err := dialer.Dial("tcp", p.Address)
	if err != nil {
		return nil, err
	}
	out := &link{Conn: conn}
	if out.raw, err = conn.(*net.TCPConn).SyscallConn(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	out.reader = bufio.NewReaderSize(out, longestAnswerHead)
	return out, nil
}
