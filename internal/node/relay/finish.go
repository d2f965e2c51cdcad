package relay

import (
	"bytes"
	"crypto/tls"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// How long the requests under way have to end while others are taken still, and how long the others have then: a proxy
// that is refused holds its requests for longer. A connection on which the pod spoke last rests after restTime: an
// answer may pause for less.
const (
	earlyTime = 5 * time.Second
	lateTime  = 5 * time.Second
	restTime  = 3 * time.Second
	// lookTime is the least time between two looks at all connections.
	lookTime = 5 * time.Millisecond
)

// finish waits until the requests under way have ended, closes the listener, and waits for those that have begun
// meanwhile. A connection that rests between two requests is closed, and an HTTP proxy closes its own after the
// next answer.
func (r *Relay) finish(listener net.Listener) {
	r.finishing.Store(true)
	early := map[*link]int{}
	for l := range r.links() {
		early[l] = l.last.turn()
	}
	r.await(earlyTime, func(l *link) bool {
		turn, was := early[l]
		return was && turn > 0 && turn == l.last.turn()
	})
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
	end := time.NewTimer(most)
	defer end.Stop()
	for {
		looked := time.Now()
		waits, rest := r.look(counts, looked)
		if !waits {
			return
		}
		next := time.NewTimer(rest)
		select {
		case <-r.stirred:
			time.Sleep(lookTime - time.Since(looked))
		case <-next.C:
		case <-end.C:
			return
		}
		next.Stop()
	}
}

// look cuts the connections that rest. It returns whether one of the others counts, and after which time the next may
// rest.
func (r *Relay) look(counts func(*link) bool, now time.Time) (waits bool, next time.Duration) {
	next = restTime
	for l := range r.links() {
		waits = waits || counts(l)
		switch left, may := l.last.rests(now); {
		case !may:
		case left <= 0:
			l.cut()
		default:
			next = min(next, left)
		}
	}
	return waits, next
}

// stir has an end that is under way look at the connections once more.
func (r *Relay) stir() {
	if !r.finishing.Load() {
		return
	}
	select {
	case r.stirred <- struct{}{}:
	default: // it will look
	}
}

// spoken records which side last sent data on a connection, and when. A connection rests once the pod has sent last,
// and the caller begins another request when it speaks then. On HTTP/2 many requests are under way at once, so that
// says nothing about them.
type spoken struct {
	mu    sync.Mutex
	by    speaker
	when  time.Time
	turns int  // of the caller
	many  bool // it speaks HTTP/2
	other bool // the pod has switched to another protocol
}

type speaker int

// A pod that says something has not stopped before the caller has taken it.
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

// hear notes what the caller said, and reports whether that begins a request.
func (s *spoken) hear(text []byte) (begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begins = s.by != byCaller; begins {
		if s.turns++; s.turns == 1 {
			s.many = bytes.HasPrefix(text, []byte("PRI * HTTP/2"))
		}
	}
	s.by, s.when = byCaller, time.Now()
	return begins
}

// answers notes that the pod begins to say a text, and reports whether that begins an answer of HTTP/1.1.
func (s *spoken) answers(text []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.by == byCaller && !s.other && bytes.HasPrefix(text, []byte("HTTP/1.1 "))
	s.other = s.other || first && bytes.HasPrefix(text, []byte("HTTP/1.1 101"))
	s.by, s.when = podAtIt, time.Now()
	return first && !s.other
}

// turn returns which request is under way, as a number; 0 before the first, and where that can't be known.
func (s *spoken) turn() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.many {
		return 0
	}
	return s.turns
}

// rests returns the time after which the connection rests if nothing is said meanwhile: none if it does already. It may
// not while the caller waits for an answer.
func (s *spoken) rests(now time.Time) (left time.Duration, may bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return restTime - now.Sub(s.when), s.by == byPod && !s.many
}

// heard is the connection of a caller, of which is noted who speaks.
type heard struct {
	*tls.Conn
	last  *spoken
	http  bool
	relay *Relay
}

// Read implements net.Conn.
func (h heard) Read(into []byte) (int, error) {
	n, err := h.Conn.Read(into)
	if n > 0 {
		if h.last.hear(into[:n]) {
			h.relay.stir()
		}
	}
	return n, err
}

// Write implements net.Conn.
func (h heard) Write(text []byte) (int, error) {
	out := text
	if h.last.answers(text) && h.http && h.relay.finishing.Load() {
		out = closing(text)
	}
	n, err := h.Conn.Write(out)
	h.last.say(byPod)
	if err == nil {
		n = len(text)
	}
	return min(n, len(text)), err
}

// closing returns the beginning of an answer of HTTP/1.1 so that its caller sends no other request on the connection.
func closing(answer []byte) []byte {
	line, rest, whole := bytes.Cut(answer, []byte("\r\n"))
	if !whole {
		return answer
	}
	return slices.Concat(line, []byte("\r\nConnection: close\r\n"), rest)
}
