package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/boundary"
)

// maxAnswer bounds an answer that is one value, as the containers of a node, and maxProblem one that is an error.
const (
	maxAnswer  = 32 << 20
	maxProblem = 1 << 20
)

// ErrTooLong means that the other end sends more than fits what it answers.
var ErrTooLong = errors.New("the answer is too long")

// Limited reads from another reader until its bound, and returns ErrTooLong then.
type Limited struct {
	from io.Reader
	left int
}

// Bounded returns a reader of at most some bytes.
func Bounded(from io.Reader, bytes int) *Limited { return &Limited{from, bytes} }

// Renew sets the bound of what comes from now on.
func (l *Limited) Renew(bytes int) { l.left = bytes }

// Read implements io.Reader.
func (l *Limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, ErrTooLong
	}
	n, err := l.from.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// Body bounds how much of a request's body is read. Most is required.
type Body struct {
	// Most bounds its bytes.
	Most int64
	// Within is the time in which it must have come. Default: it isn't bounded.
	Within time.Duration
	// Hold is asked before memory is taken for it; an error refuses it. Default: nothing is.
	Hold func(bytes int) error
}

// Read reads the body of a request, which is one value.
func (b Body) Read(w http.ResponseWriter, r *http.Request, into any) error {
	if b.Hold == nil {
		b.Hold = func(int) error { return nil }
	}
	if b.Within > 0 {
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(b.Within)) // it fails where there is no connection
		defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	}
	text, err := io.ReadAll(holding{http.MaxBytesReader(w, r.Body, b.Most), b.Hold})
	if err == nil {
		err = b.Hold(values(text) * boundary.ValueBytes)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if _, refused := errors.AsType[*api.Problem](err); refused || err == nil {
		return err
	}
	return fmt.Errorf("the body can't be read: %w: %w", err, ErrBadRequest)
}

// holding asks before it gives bytes on.
type holding struct {
	io.Reader
	hold func(bytes int) error
}

// Read implements io.Reader.
func (h holding) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		if refused := h.hold(n); refused != nil {
			return n, refused
		}
	}
	return n, err
}

// values returns about how many values a text in JSON has: each but the first stands behind one of these signs.
func values(text []byte) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case ',', '[', '{':
			if !quoted {
				n++
			}
		}
	}
	return n
}

// Write answers with a value.
func Write(w http.ResponseWriter, value any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(value)
}

// Copy answers with the content, without announcing its length. If the content ends early or the other end stops
// reading, Copy aborts the connection's stream, since the receiver would take a normal end for the end of the content.
func Copy(w http.ResponseWriter, content io.Reader) {
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := io.Copy(read{w, http.NewResponseController(w)}, content); err != nil {
		_ = http.NewResponseController(w).Flush() // a reader may go on after what came
		panic(http.ErrAbortHandler)
	}
}

// read writes what the other end is to read.
type read struct {
	io.Writer
	control *http.ResponseController
}

// Write implements io.Writer.
func (r read) Write(p []byte) (int, error) {
	defer Await(r.control)()
	return r.Writer.Write(p)
}

// Await bounds the time in which the other end reads what is written until the function is called that it returns.
func Await(control *http.ResponseController) (written func()) {
	_ = control.SetWriteDeadline(time.Now().Add(boundary.ReadTime)) // it fails where there is no connection
	return func() { _ = control.SetWriteDeadline(time.Time{}) }
}

// Fail answers with a problem.
func Fail(w http.ResponseWriter, problem *api.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(problem.Status)
	_ = json.NewEncoder(w).Encode(problem)
}
