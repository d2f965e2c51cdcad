package ingress

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// bodyTime is how long a client may send nothing of a body that it owes, over HTTP/1. HTTP/2 has no such bound: there a body
// without an end is how gRPC listens.
const bodyTime = 2 * time.Minute

// sent is the body a client sends.
type sent struct {
	io.ReadCloser
	control *http.ResponseController // nil where reads have no bound
	limit   time.Duration

	mu    sync.Mutex
	fault error
}

// sends notes the body of a request, so that it is known whose fault it is where it doesn't come.
func (x *exchange) sends(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	x.body = &sent{ReadCloser: r.Body, limit: x.proxy.body}
	if r.ProtoMajor == 1 {
		x.body.control = http.NewResponseController(w)
	}
	r.Body = x.body
}

func (s *sent) Read(into []byte) (int, error) {
	if s.control != nil {
		_ = s.control.SetReadDeadline(time.Now().Add(s.limit)) // where it can't be set, there is none
	}
	n, err := s.ReadCloser.Read(into)
	if err == nil {
		return n, nil
	}
	if s.control != nil && err == io.EOF {
		_ = s.control.SetReadDeadline(time.Time{}) // the server looks from now on whether its client is there
	}
	if err != io.EOF {
		s.mu.Lock()
		s.fault = err
		s.mu.Unlock()
	}
	return n, err
}

// broken says whether the client failed to send it whole.
func (s *sent) broken() bool { return s.why() != nil }

// stuck says whether that is because it sent nothing for too long.
func (s *sent) stuck() bool { return errors.Is(s.why(), os.ErrDeadlineExceeded) }

func (s *sent) why() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// halfTime is how long one side of an upgraded connection may go on after the other has ended.
const halfTime = 2 * time.Minute

// counted ends the pod's request when the answer's body is closed. A connection that was upgraded can be written to too.
func counted(body io.ReadCloser, p *pod) io.ReadCloser {
	if both, ok := body.(io.ReadWriteCloser); ok {
		return &countedConn{ReadWriteCloser: both, end: sync.OnceFunc(p.end)}
	}
	return &countedBody{ReadCloser: body, end: sync.OnceFunc(p.end)}
}

type countedBody struct {
	io.ReadCloser
	end func()
}

func (b *countedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

type countedConn struct {
	io.ReadWriteCloser
	end    func()
	over   sync.Once
	ending *time.Timer // nil until the client says no more; set within over
}

func (c *countedConn) Close() error {
	defer c.end()
	c.over.Do(func() {})
	if c.ending != nil {
		c.ending.Stop()
	}
	return c.ReadWriteCloser.Close()
}

// CloseWrite tells the pod that the client says no more. What the pod still has to say, it says within halfTime.
func (c *countedConn) CloseWrite() error {
	c.over.Do(func() { c.ending = time.AfterFunc(halfTime, func() { _ = c.Close() }) })
	return halved(c.ReadWriteCloser)
}
