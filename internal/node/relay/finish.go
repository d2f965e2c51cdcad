package relay

import (
	"bytes"
	"crypto/tls"
	"maps"
	"net"
	"sync"
	"time"
)

// How long the requests under way have to end while others are taken still, and how long all have once none is taken: a
// proxy that is refused asks again for 2 s. restTime is how long nothing is said between two requests.
const (
	earlyTime  = 8 * time.Second
	lateTime   = time.Second
	restTime   = 500 * time.Millisecond
	finishLook = 50 * time.Millisecond
)

// finish waits until the requests under way have ended, and closes the listener. A connection that rests between two
// requests is closed.
func (r *Relay) finish(listener net.Listener) {
	early := r.links()
	r.await(earlyTime, func(l *link) bool { return early[l] })
	_ = listener.Close()
	r.await(lateTime, func(*link) bool { return true })
}

func (r *Relay) links() map[*link]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.open)
}

// await returns once none of the connections that count is there any more, or after a time.
func (r *Relay) await(most time.Duration, counts func(*link) bool) {
	for until := time.Now().Add(most); time.Now().Before(until); time.Sleep(finishLook) {
		waits := false
		for l := range r.links() {
			if waits = waits || counts(l); l.last.rests(time.Now()) {
				_ = l.conn.Close()
			}
		}
		if !waits {
			return
		}
	}
}

// spoken is who said something last on a connection, and when: a connection rests once the pod has spoken last. A pod
// that says something has not stopped before the caller has taken it. On HTTP/2 many requests are under way at once, so
// it says nothing about them.
type spoken struct {
	mu    sync.Mutex
	by    speaker
	when  time.Time
	begun bool // the caller has spoken
	many  bool // it speaks HTTP/2
}

type speaker int

const (
	byPod speaker = iota
	byCaller
	podAtIt
)

func (s *spoken) say(by speaker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by, s.when = by, time.Now()
}

// hear notes what the caller said.
func (s *spoken) hear(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun, s.many = true, bytes.HasPrefix(text, []byte("PRI * HTTP/2"))
	}
	s.by, s.when = byCaller, time.Now()
}

func (s *spoken) rests(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by == byPod && !s.many && now.Sub(s.when) >= restTime
}

// heard is the connection of a caller, of which is noted who speaks.
type heard struct {
	*tls.Conn
	last *spoken
}

// Read implements net.Conn.
func (h heard) Read(into []byte) (int, error) {
	n, err := h.Conn.Read(into)
	if n > 0 {
		h.last.hear(into[:n])
	}
	return n, err
}

// Write implements net.Conn.
func (h heard) Write(text []byte) (int, error) {
	h.last.say(podAtIt)
	n, err := h.Conn.Write(text)
	h.last.say(byPod)
	return n, err
}
