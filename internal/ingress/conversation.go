package ingress

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/internal/ingress/wire"
)

// How long a client may take for a request's head, and until its next request.
const (
	headTime = 10 * time.Second
	idleTime = 2 * time.Minute
	// firstTime is for the first request of a connection, once its door closes.
	firstTime = 500 * time.Millisecond
)

// challenges is where authorities look whether a host is ours; it is nobody's route.
const challenges = "/.well-known/acme-challenge/"

// conversation is a client's connection as long as its requests are plain: GET and HEAD without a body, whose head came in
// one piece and leaves nothing to interpret (package wire), for a route with pods. Nothing but the exchange itself is done
// then, on this goroutine: that is a quarter of what net/http's server and transport take for it.
//
// Whatever it doesn't do, it leaves to net/http, the request included: one that was begun here may be done twice, and none
// of its answer was passed on. So this has no errors, retries or waiting of its own.
type conversation struct {
	site   *plainSite
	conn   net.Conn
	client string
	state  atomic.Int32

	in         [4 << 10]byte
	start, end int // what was read and not answered
	out        []byte
	request    wire.Request
	answer     wire.Answer
	began      time.Time

	idleSince atomic.Int64 // in nanoseconds, of the last wait
	asked     atomic.Bool  // whether it made a request

	watching chan struct{} // closed once nobody looks whether the client is there; nil while nobody does
	left     atomic.Bool   // the client closed the connection
	late     bool          // the pod took longer than it may to begin its answer
}

// The states of a conversation.
const (
	busy int32 = iota
	idle
	dismissed
)

func newConversation(s *plainSite, conn net.Conn) *conversation {
	return &conversation{site: s, conn: conn}
}

// run answers requests until the connection ends, or until one comes that isn't plain: then it is true.
func (c *conversation) run() (more bool) {
	for limit := headTime; ; limit = idleTime {
		if !c.await(limit) {
			return false
		}
		if !c.request.Parse(c.in[c.start:c.end]) {
			return true
		}
		switch c.serve() {
		case elsewhere:
			return true
		case ended:
			return false
		}
		c.start += c.request.Size
		if c.request.Close {
			return false
		}
	}
}

// outcome is what became of a request.
type outcome int

const (
	answered  outcome = iota
	elsewhere         // nothing was passed on: net/http is to answer it
	ended             // so has the connection
)

// await reads the beginning of the next request, unless it was read already.
func (c *conversation) await(limit time.Duration) bool {
	if c.end > c.start {
		return !c.site.ends() // what follows was not begun: its client makes it again
	}
	c.start, c.end = 0, 0
	c.spare()
	now := time.Now()
	if err := c.conn.SetReadDeadline(now.Add(limit)); err != nil {
		return false
	}
	c.idleSince.Store(now.UnixNano())
	c.state.Store(idle)
	if c.site.ends() && (c.asked.Load() || c.conn.SetReadDeadline(now.Add(firstTime)) != nil) {
		return false
	}
	n, err := c.conn.Read(c.in[:])
	c.end = n
	c.asked.Store(true)
	return c.state.CompareAndSwap(idle, busy) && err == nil
}

// maxSpare is how much of a buffer a connection keeps while it waits for a request.
const maxSpare = 4 << 10

// spare lets go of a large buffer: connections that idle are many.
func (c *conversation) spare() {
	if cap(c.out) > maxSpare {
		full := c.out[:0]
		outs.Put(&full)
		c.out = nil
	}
}

// outs are large buffers that are free.
var outs sync.Pool

// room takes a large buffer where there is a free one.
func (c *conversation) room() {
	if cap(c.out) > maxSpare {
		return
	}
	if free, _ := outs.Get().(*[]byte); free != nil {
		c.out = append((*free)[:0], c.out...)
	}
}

// dismiss ends a conversation that waits for a request, and says whether it did; one that answers ends after it.
func (c *conversation) dismiss() bool {
	if !c.state.CompareAndSwap(idle, dismissed) {
		return false
	}
	_ = c.conn.Close()
	return true
}

// conclude is dismiss for one that has made a request; the others have a moment left for theirs.
func (c *conversation) conclude() {
	if c.asked.Load() {
		c.dismiss()
	} else {
		_ = c.conn.SetReadDeadline(time.Now().Add(firstTime))
	}
}

// rest is what was read and not answered.
func (c *conversation) rest() []byte { return append([]byte(nil), c.in[c.start:c.end]...) }

// serve passes one request on.
func (c *conversation) serve() outcome {
	proxy := c.site.proxy
	picture := proxy.picture.Load()
	host, path := string(c.request.Host), string(c.request.Path)
	b := picture.backends[picture.table.Match(host, path)]
	if b == nil || b.Secure || b.Mode != ModeServe || strings.HasPrefix(path, challenges) || b.winds() {
		return elsewhere
	}
	if c.client == "" {
		c.client = addressOf(c.conn.RemoteAddr().String())
	}
	c.began = proxy.opts.Now()
	p := b.choose(c.client, nil, c.began)
	if p == nil || !p.begin() {
		return elsewhere
	}
	defer p.end()
	b.tell.active.Inc()
	defer b.tell.active.Dec()
	l := c.ask(p, b)
	defer func() {
		if l != nil {
			_ = l.Close()
		}
	}()
	told := record{client: c.client, host: host, path: path, proto: "HTTP/1.1", status: c.answer.Status, backend: b, pod: p}
	switch {
	case l == nil && c.left.Load():
		told.status, told.pod = statusLeft, nil
	case l == nil && c.late:
		told.status, told.failure = http.StatusGatewayTimeout, errLate
		told.bytes = c.refuse(told.status, late)
	case l == nil:
		return elsewhere
	default:
		p.worked()
		told.bytes, told.failure = c.pass(l)
		c.unwatch()
		if told.failure == nil && !c.answer.Close && l.reader.Buffered() == 0 {
			p.links.put(l, c.began)
			l = nil
		}
	}
	told.method = string(c.request.Method)
	proxy.write(told, c.began)
	if told.failure != nil || c.left.Load() {
		return ended
	}
	return answered
}

// ask sends the request to a pod and reads the head of its answer. It is nil where none came, or none that is plain.
func (c *conversation) ask(p *pod, b *backend) *link {
	c.out, c.late = c.appendRequest(c.out[:0], b), false
	for kept := true; ; kept = false {
		var l *link
		if kept {
			l = p.links.get(c.began)
		}
		fresh := l == nil
		if fresh {
			var err error
			if l, err = p.dial(); err != nil {
				b.failed(p, c.site.proxy.opts.Now())
				return nil
			}
		}
		l.stalled, l.limit = func() { c.watch(l) }, c.site.proxy.opts.Answer
		_, err := l.Write(c.out)
		plain := false
		if err == nil {
			plain, err = c.readHead(l)
		}
		if plain {
			return l
		}
		c.unwatch()
		_ = l.Close()
		c.late = errors.Is(err, os.ErrDeadlineExceeded)
		switch {
		case err == nil:
			p.winding.Store(true)
			return nil
		case c.left.Load():
			return nil
		case fresh || c.late:
			b.failed(p, c.site.proxy.opts.Now())
			return nil
		}
		// Most likely the pod closed a kept connection just now: a new one, but once, since it may be the request that ends them.
	}
}

// readHead reads an answer's head. It is false where that isn't plain.
func (c *conversation) readHead(l *link) (bool, error) {
	for want := 1; ; want = l.reader.Buffered() + 1 {
		if want > l.reader.Size() {
			return false, nil
		}
		if _, err := l.reader.Peek(want); err != nil {
			return false, err
		}
		if text, _ := l.reader.Peek(l.reader.Buffered()); wire.Complete(text) {
			return c.answer.Parse(text, c.request.Method[0] == 'H'), nil
		}
	}
}

// watch looks whether the client is still there while its pod takes its time, and closes the pod's connection where it
// isn't. What the client says meanwhile is kept: it is its next request.
func (c *conversation) watch(l *link) {
	if c.watching != nil || c.end == len(c.in) || c.conn.SetReadDeadline(time.Time{}) != nil {
		return
	}
	done := make(chan struct{})
	c.watching = done
	go func() {
		defer close(done)
		n, err := c.conn.Read(c.in[c.end:])
		c.end += n
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			c.left.Store(true)
			_ = l.Conn.Close()
		}
	}()
}

// unwatch ends the look of watch.
func (c *conversation) unwatch() {
	if c.watching == nil {
		return
	}
	_ = c.conn.SetReadDeadline(time.Unix(1, 0))
	<-c.watching
	c.watching = nil
}
