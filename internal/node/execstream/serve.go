package execstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"tend.dev/tend/api"
	"tend.dev/tend/client/execwire"
	container "tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

// Conn is a connection to a client. *websocket.Conn is one.
type Conn interface {
	execwire.Conn
	// Close says goodbye and ends the connection, and with it a blocked read.
	Close(code websocket.StatusCode, reason string) error
}

// exitGrace is the time to wait for a client that doesn't read to receive the end of the stream, writeTime that for one
// that reads slowly.
const (
	exitGrace = 10 * time.Second
	writeTime = time.Minute
)

// ErrClientGone means that the client left before the command ended.
var ErrClientGone = errors.New("the client has gone")

// session copies between a client and a running command.
type session struct {
	Conn
	cancel context.CancelCauseFunc
	// running is set once started is closed.
	running container.Exec
	started chan struct{}
	// writes ends what is still written to a client that doesn't read.
	writes context.Context
}

// Serve starts a command, and copies between it and a client until the command has ended, the client disconnects, or
// ctx ends, which it does by cancel in the end. The client gets its exit code or an error, and the connection is
// closed.
func Serve(ctx context.Context, cancel context.CancelCauseFunc, conn Conn,
	start func(context.Context) (container.Exec, error), problemOf func(error) *api.Problem) {
	e := &session{Conn: conn, cancel: cancel, started: make(chan struct{})}
	var endWrites context.CancelFunc
	e.writes, endWrites = context.WithCancel(context.WithoutCancel(ctx))
	defer endWrites()
	reading := make(chan struct{})
	recovery.Go(func() {
		defer close(reading)
		e.readInput(ctx)
	})
	code, err := e.run(ctx, start, endWrites)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	last := execwire.Control{Exit: &execwire.Status{Code: code}}
	if err != nil {
		last = execwire.Control{Error: problemOf(err)}
	}
	defer time.AfterFunc(exitGrace, endWrites).Stop()
	_ = execwire.Send(e.writes, e, last)
	_ = conn.Close(websocket.StatusNormalClosure, "")
	<-reading
}

// run returns the exit code of the command. Neither a silent command nor a client that reads nothing may hold it once
// ctx has ended.
func (e *session) run(
	ctx context.Context, start func(context.Context) (container.Exec, error), endWrites context.CancelFunc,
) (int, error) {
	running, err := start(ctx)
	e.running = running
	close(e.started)
	if err != nil {
		return 0, err
	}
	defer running.Close() // a command that has ended reads no more: this ends a blocked write to it
	defer context.AfterFunc(ctx, func() {
		running.Close()
		time.AfterFunc(exitGrace, endWrites)
	})()
	var outputs recovery.Group
	outputs.Go(func() { e.copyOutput(execwire.Stdout, running.Stdout()) })
	outputs.Go(func() { e.copyOutput(execwire.Stderr, running.Stderr()) })
	outputs.Wait()
	return running.Wait(ctx)
}

// readInput hands the client's messages to the command. A client that disconnects ends the session: its output would
// have no reader. What comes after the command has ended is read and dropped until the client closes the connection:
// one that is closed with input unread may lose the exit code on its way.
func (e *session) readInput(ctx context.Context) {
	var buffer bytes.Buffer
	for {
		control, stream, data, err := execwire.Receive(context.WithoutCancel(ctx), e, &buffer)
		if err == nil {
			<-e.started
			err = e.handle(ctx, control, stream, data)
		}
		switch {
		case errors.Is(err, execwire.ErrMalformed):
			e.cancel(&api.Problem{Status: http.StatusBadRequest, Detail: err.Error(), Next: "speak " + execwire.Protocol})
		case err != nil:
			e.cancel(ErrClientGone)
			return
		}
	}
}

// handle returns ErrMalformed for what a client may not send.
func (e *session) handle(ctx context.Context, control *execwire.Control, stream execwire.Stream, data []byte) error {
	if e.running == nil { // it could not be started
		return nil
	}
	stdin := e.running.Stdin()
	switch {
	case control == nil && stream == execwire.Stdin:
		if stdin != nil {
			_, _ = stdin.Write(data) // a command that reads no more may still write
		}
	case control != nil && control.EOF:
		if stdin != nil {
			_ = stdin.Close()
		}
	case control != nil && control.Resize != nil:
		if size := control.Resize; size.Width > 0 && size.Height > 0 {
			_ = e.running.Resize(ctx, size.Width, size.Height)
		}
	default:
		return fmt.Errorf("%w: a client may send stdin, resize and eof", execwire.ErrMalformed)
	}
	return nil
}

func (e *session) copyOutput(stream execwire.Stream, from io.Reader) {
	if from == nil {
		return
	}
	to := execwire.Writer(e.writes, e, stream)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if _, failed := to.Write(buffer[:n]); failed != nil {
			e.cancel(ErrClientGone)
			return
		}
		if err != nil {
			return
		}
	}
}

// Write implements execwire.Conn. A client that takes nothing for writeTime is cut.
func (e *session) Write(ctx context.Context, kind websocket.MessageType, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return e.Conn.Write(ctx, kind, message)
}
