package ingress

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Over HTTP/1, a client must send a body at bodyRate at least, and may fall behind by bodyTime. Only time during which
// its pod waits for the body counts. HTTP/2 has no such bound: gRPC streams keep a body open without sending.
const (
	bodyTime = 2 * time.Minute
	bodyRate = 240 // bytes a second
)

// sent is the body that a client sends.
type sent struct {
	io.ReadCloser
	from    *http.Request
	trailer http.Header              // the trailer of the request to the pod, with the announced names
	control *http.ResponseController // nil if reads have no bound
	limit   time.Duration
	rate    int           // in bytes a second
	budget  time.Duration // how long the client may still keep its pod waiting, at most limit; used only by Read

	mu    sync.Mutex
	fault error
	over  bool // the request was answered: the connection now belongs to the next one
}

// sends wraps the body of a request, to find out whether the client is at fault if the body doesn't arrive. r is a copy
// of from, the request that the server made.
func (x *exchange) sends(w http.ResponseWriter, r, from *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	x.body = &sent{ReadCloser: r.Body, from: from, limit: x.proxy.body, budget: x.proxy.body, rate: x.proxy.bodyRate}
	if r.ProtoMajor == 1 {
		x.body.control = http.NewResponseController(w)
		// otherwise a pod's answer waits for a body that its client may not send before the answer
		_ = x.body.control.EnableFullDuplex()
	}
	r.Body = x.body
}

func (s *sent) Read(into []byte) (int, error) {
	began := time.Now()
	s.patience(began.Add(s.budget))
	n, err := s.ReadCloser.Read(into)
	s.budget = min(s.budget-time.Since(began)+time.Duration(n)*time.Second/time.Duration(s.rate), s.limit)
	switch err {
	case nil:
	case io.EOF:
		for name := range s.trailer {
			s.trailer[name] = s.from.Trailer[name]
		}
		s.patience(time.Time{}) // from now on the server checks whether the client is still connected
	default:
		s.mu.Lock()
		s.fault = err
		s.mu.Unlock()
	}
	return n, err
}

// patience sets the deadline of the next read, as long as the connection belongs to this request.
func (s *sent) patience(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.control != nil && !s.over {
		_ = s.control.SetReadDeadline(until) // a connection without deadlines stays without one
	}
}

// end marks the request as answered.
func (s *sent) end() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// broken reports whether the client failed to send the whole body.
func (s *sent) broken() bool { return s.why() != nil }

// stuck reports whether the body is broken because the client sent nothing for too long.
func (s *sent) stuck() bool { return errors.Is(s.why(), os.ErrDeadlineExceeded) }

func (s *sent) why() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// halfTime bounds how long one side of an upgraded connection may continue after the other has ended.
const halfTime = 2 * time.Minute

// counted ends the pod's request when the answer's body is closed. A body that is an upgraded connection can be written
// to as well.
func counted(body io.ReadCloser, p *pod) io.ReadCloser {
	if both, ok := body.(io.ReadWriteCloser); ok {
		return &countedConn{ReadWriteCloser: both, end: sync.OnceFunc(p.release)}
	}
	return &countedBody{ReadCloser: body, pod: p}
}

// countedBody is the body of a pod's answer. Closing it ends the count of the request.
type countedBody struct {
	io.ReadCloser
	pod   *pod
	ended atomic.Bool
}

func (b *countedBody) Close() error {
	if !b.ended.CompareAndSwap(false, true) {
		return nil
	}
	defer b.pod.release()
	return b.ReadCloser.Close()
}

// countedConn is an upgraded connection to a pod. Closing it ends the count of the request.
type countedConn struct {
	io.ReadWriteCloser
	end    func()
	over   sync.Once
	ending *time.Timer // nil until the client sends no more; set within over
}

func (c *countedConn) Close() error {
	defer c.end()
	c.over.Do(func() {})
	if c.ending != nil {
		c.ending.Stop()
	}
	return c.ReadWriteCloser.Close()
}

// CloseWrite signals to the pod that the client sends no more. The pod has halfTime to send the rest of its data.
func (c *countedConn) CloseWrite() error {
	c.over.Do(func() { c.ending = time.AfterFunc(halfTime, func() { _ = c.Close() }) })
	return halved(c.ReadWriteCloser)
}
