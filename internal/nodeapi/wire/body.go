package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"tend.dev/tend/api"
)

// maxBody bounds the body of a request: agents bound each of their parts. maxAnswer bounds an answer that is one value, as the
// containers of a node, and maxProblem one that is an error.
const (
	maxBody    = 16 << 20
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

// Read reads the body of a request.
func Read(w http.ResponseWriter, r *http.Request, into any) error {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(into); err != nil {
		return fmt.Errorf("the body can't be read: %w: %w", err, ErrBadRequest)
	}
	return nil
}

// Write answers with a value.
func Write(w http.ResponseWriter, value any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(value)
}

// Copy answers with bytes. The length isn't announced: if they end early, so does the connection's stream, for a normal end
// would be taken for theirs.
func Copy(w http.ResponseWriter, content io.Reader) {
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := io.Copy(w, content); err != nil {
		_ = http.NewResponseController(w).Flush() // a reader may go on after what came
		panic(http.ErrAbortHandler)
	}
}

// Fail answers with a problem.
func Fail(w http.ResponseWriter, problem *api.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(problem.Status)
	_ = json.NewEncoder(w).Encode(problem)
}
