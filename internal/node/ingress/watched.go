package ingress

import (
	"bufio"
	"cmp"
	"net"
	"net/http"
	"sync"
	"time"
)

// watched is a response writer that records the answer.
type watched struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements http.ResponseWriter. Of several statuses, the first one that isn't informational counts.
func (w *watched) WriteHeader(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(data []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	n, err := w.ResponseWriter.Write(data)
	w.bytes += int64(n)
	return n, err
}

// Unwrap gives http.ResponseController access to the inner writer.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack takes over the connection of an upgrade.
func (w *watched) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.status = http.StatusSwitchingProtocols // the client gets that status on the connection itself
	return &upgraded{Conn: conn, early: both.Reader}, both, nil
}

// upgraded is a client's connection that speaks another protocol after an upgrade.
type upgraded struct {
	net.Conn
	early *bufio.Reader // holds data that the client sent before it got the answer to the upgrade
}

func (u *upgraded) Read(into []byte) (int, error) {
	if n := u.early.Buffered(); n > 0 {
		return u.early.Read(into[:min(n, len(into))])
	}
	return u.Conn.Read(into)
}

// CloseWrite signals to the client that its pod sends no more. The client has halfTime to send the rest of its data.
func (u *upgraded) CloseWrite() error {
	if err := u.SetReadDeadline(time.Now().Add(halfTime)); err != nil {
		return err
	}
	return halved(u.Conn)
}

// buffers pools the buffers that answers are copied with.
type buffers struct{ pool sync.Pool }

const bufferSize = 32 << 10

func (b *buffers) Get() []byte {
	if lent, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return lent[:]
	}
	return make([]byte, bufferSize)
}

func (b *buffers) Put(back []byte) { b.pool.Put((*[bufferSize]byte)(back)) }
