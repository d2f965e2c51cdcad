package execstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client/frame"
	container "tend.dev/tend/internal/runtime"
)

// Conn is a connection to a client. Close ends its input too.
type Conn interface {
	io.WriteCloser
	SetWriteDeadline(t time.Time) error
}

// exitGrace is how long to wait for a client that doesn't read to receive the end of the stream, writeTime for one that
// reads slowly.
const (
	exitGrace = 10 * time.Second
	writeTime = time.Minute
)

// ErrClientGone means that the client left before the command ended.
var ErrClientGone = errors.New("the client has gone")

// session copies between a client and a running command.
type session struct {
	conn      Conn
	running   container.Exec
	cancel    context.CancelCauseFunc
	problemOf func(error) *api.Problem
	// writing keeps frames from being mixed.
	writing sync.Mutex
}

// Serve copies between a client and a running command until the command has ended, the client disconnects, or ctx ends,
// which it does by cancel in the end. The client gets one Exit or Error frame.
func Serve(ctx context.Context, cancel context.CancelCauseFunc, conn Conn, input io.Reader, running container.Exec, problemOf func(error) *api.Problem) {
	e := &session{conn: conn, running: running, cancel: cancel, problemOf: problemOf}
	e.run(ctx, input)
}

func (e *session) run(ctx context.Context, input io.Reader) {
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		e.readInput(ctx, input)
	}()
	var outputs sync.WaitGroup
	outputs.Go(func() { e.copyOutput(frame.Stdout, e.running.Stdout()) })
	outputs.Go(func() { e.copyOutput(frame.Stderr, e.running.Stderr()) })
	left := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(left)
		// Neither a silent command nor a client that reads nothing may hold the session.
		e.running.Close()
		_ = e.conn.SetWriteDeadline(time.Now().Add(exitGrace))
	})
	defer func() {
		if !stop() {
			<-left // the connection may not be used once Serve has returned
		}
	}()
	outputs.Wait()
	code, err := e.running.Wait(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	_ = e.conn.SetWriteDeadline(time.Now().Add(exitGrace))
	if err != nil {
		e.send(frame.Error, e.problemOf(err))
	} else {
		e.send(frame.Exit, frame.Status{Code: code})
	}
	e.conn.Close()
	e.running.Close() // a command that has ended reads no more: this ends a blocked write to it
	<-reading
}

// readInput hands the client's frames to the command. A client that disconnects ends the session: its output would have
// no reader.
func (e *session) readInput(ctx context.Context, input io.Reader) {
	stdin := e.running.Stdin()
	for {
		kind, payload, err := frame.Read(input)
		if err != nil {
			e.cancel(ErrClientGone)
			return
		}
		switch kind {
		case frame.Stdin:
			if stdin != nil {
				_, _ = stdin.Write(payload) // a command that reads no more may still write
			}
		case frame.Close:
			if stdin != nil {
				_ = stdin.Close()
			}
		case frame.Resize:
			var size frame.Size
			if json.Unmarshal(payload, &size) == nil && size.Width > 0 && size.Height > 0 {
				_ = e.running.Resize(ctx, size.Width, size.Height)
			}
		default:
			e.cancel(&api.Problem{Status: http.StatusBadRequest, Detail: fmt.Sprintf("a client may not send frames of kind %d", kind), Next: "speak " + frame.Protocol})
			return
		}
	}
}

func (e *session) copyOutput(kind frame.Kind, from io.Reader) {
	if from == nil {
		return
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && e.write(kind, buffer[:n]) != nil {
			e.cancel(ErrClientGone)
			return
		}
		if err != nil {
			return
		}
	}
}

func (e *session) write(kind frame.Kind, payload []byte) error {
	e.writing.Lock()
	defer e.writing.Unlock()
	_ = e.conn.SetWriteDeadline(time.Now().Add(writeTime))
	return frame.Write(e.conn, kind, payload)
}

func (e *session) send(kind frame.Kind, value any) {
	payload, err := json.Marshal(value)
	if err != nil || len(payload) > frame.MaxPayload {
		payload, _ = json.Marshal(api.Problem{Title: "Internal Server Error", Status: 500, Detail: "the outcome is unknown"})
	}
	_ = e.write(kind, payload)
}
