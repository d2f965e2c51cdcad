package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"

	"tend.dev/tend/api"
)

// received is a request's body whose read errors count as faults of the client or its connection: a malformed chunk, an
// early end, a client that sends nothing. The http.Server closes the body that it passed in.
type received struct {
	io.Reader
	ctx context.Context
}

func (b received) Read(into []byte) (int, error) {
	if ended := endOf(b.ctx); ended != nil {
		return 0, ended
	}
	n, err := b.Reader.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &bodyError{err}
	}
	return n, err
}

// Close implements io.Closer.
func (received) Close() error { return nil }

// bodyError is a failure to read a request's body.
type bodyError struct{ error }

func (e *bodyError) Unwrap() error { return e.error }

// problem returns the problem for the client.
func (e *bodyError) problem() *api.Problem {
	if errors.Is(e.error, os.ErrDeadlineExceeded) {
		return &api.Problem{Status: http.StatusRequestTimeout, Detail: "the request's body did not arrive in time", Next: "send the request again"}
	}
	return &api.Problem{Status: http.StatusBadRequest, Detail: "the body can't be read: " + e.Error(),
		Next: "send it again, whole"}
}

// closeAfterChunks closes an HTTP/1 connection after a request whose body came in chunks. A Content-Length beside the
// chunks can smuggle a request past a proxy, and net/http drops that header silently.
func closeAfterChunks(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
		w.Header().Set("Connection", "close")
	}
}
