package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/node/runtime"
)

// errOther means that the node's answer doesn't fit the question.
var errOther = errors.New("the node answered something else: its agent is of another version")

// sample is a runtime.Usage in transit.
type sample struct {
	Usage runtime.Usage `json:"usage"`
	Fault *api.Problem  `json:"fault,omitempty"`
}

func sampleOf(usage runtime.Usage) sample {
	if usage.Err == nil {
		return sample{Usage: usage}
	}
	return sample{Fault: wire.ProblemOf(usage.Err)}
}

func (s sample) usage() runtime.Usage {
	if s.Fault != nil {
		return runtime.Usage{Err: wire.ErrorOf(*s.Fault)}
	}
	return s.Usage
}

// step is one line of output in transit, or the end: with the error that it ended with, if there was one.
type step struct {
	Line  *runtime.LogLine `json:"line,omitempty"`
	End   bool             `json:"end,omitempty"`
	Fault *api.Problem     `json:"fault,omitempty"`
}

// maxStep bounds a line in transit: runtimes return lines, or parts of them, of 64 KiB at most, of which a byte takes
// up to six in JSON.
const maxStep = 4 << 20

// lines reads steps. It implements runtime.LogReader.
type lines struct {
	body    io.Closer
	bounded *wire.Limited
	decoder *json.Decoder
}

func newLines(body io.ReadCloser) *lines {
	bounded := wire.Bounded(body, maxStep)
	return &lines{body: body, bounded: bounded, decoder: json.NewDecoder(bounded)}
}

// Next implements runtime.LogReader.
func (l *lines) Next() (runtime.LogLine, error) {
	var next step
	l.bounded.Renew(maxStep)
	if err := l.decoder.Decode(&next); err != nil {
		return runtime.LogLine{}, fmt.Errorf("the connection to the node was cut: %w", noEOF(err))
	}
	switch {
	case next.Line != nil:
		next.Line.At = boundary.Time(next.Line.At, time.Now())
		return *next.Line, nil
	case next.Fault != nil:
		return runtime.LogLine{}, wire.ErrorOf(*next.Fault)
	}
	return runtime.LogLine{}, io.EOF
}

// Close implements runtime.LogReader.
func (l *lines) Close() error { return l.body.Close() }

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// writer sends steps.
type writer struct {
	encoder *json.Encoder
	control *http.ResponseController
	// live: each line is sent at once.
	live bool
}

func newWriter(w http.ResponseWriter, live bool) *writer {
	w.Header().Set("Content-Type", "application/x-ndjson")
	return &writer{encoder: json.NewEncoder(w), control: http.NewResponseController(w), live: live}
}

func (w *writer) send(s step) error {
	if err := w.encoder.Encode(s); err != nil {
		return err
	}
	if w.live {
		return w.control.Flush()
	}
	return nil
}

// end sends the end.
func (w *writer) end(err error) {
	last := step{End: true}
	if err != nil && !errors.Is(err, io.EOF) {
		last.Fault = wire.ProblemOf(err)
	}
	_ = w.send(last)
}
