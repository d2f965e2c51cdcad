package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client/frame"
	container "tend.dev/tend/internal/runtime"
)

// execSession copies between a client and a running command.
type execSession struct {
	conn    net.Conn
	running container.Exec
	cancel  context.CancelCauseFunc
	// writing keeps frames from being mixed.
	writing sync.Mutex
}

// run ends when the command has ended, the client disconnects, or ctx ends. The client gets one Exit or Error frame.
func (e *execSession) run(ctx context.Context, input *bufio.Reader) {
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		e.readInput(ctx, input)
	}()
	var outputs sync.WaitGroup
	outputs.Go(func() { e.copyOutput(frame.Stdout, e.running.Stdout()) })
	outputs.Go(func() { e.copyOutput(frame.Stderr, e.running.Stderr()) })
	stop := context.AfterFunc(ctx, func() {
		// Neither a silent command nor a client that reads nothing may hold the session.
		e.running.Close()
		_ = e.conn.SetWriteDeadline(time.Now().Add(exitGrace))
	})
	defer stop()
	outputs.Wait()
	code, err := e.running.Wait(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	_ = e.conn.SetWriteDeadline(time.Now().Add(exitGrace))
	if err != nil {
		e.send(frame.Error, problemOf(err))
	} else {
		e.send(frame.Exit, frame.Status{Code: code})
	}
	e.conn.Close()
	<-reading
}

// readInput hands the client's frames to the command. A client that disconnects ends the session: its output would have
// no reader.
func (e *execSession) readInput(ctx context.Context, input *bufio.Reader) {
	stdin := e.running.Stdin()
	for {
		kind, payload, err := frame.Read(input)
		if err != nil {
			e.cancel(errClientGone)
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
			e.cancel(badRequest("speak "+frame.Protocol, "a client may not send frames of kind %d", kind))
			return
		}
	}
}

func (e *execSession) copyOutput(kind frame.Kind, from io.Reader) {
	if from == nil {
		return
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && e.write(kind, buffer[:n]) != nil {
			e.cancel(errClientGone)
			return
		}
		if err != nil {
			return
		}
	}
}

func (e *execSession) write(kind frame.Kind, payload []byte) error {
	e.writing.Lock()
	defer e.writing.Unlock()
	_ = e.conn.SetWriteDeadline(time.Now().Add(requestTime))
	return frame.Write(e.conn, kind, payload)
}

func (e *execSession) send(kind frame.Kind, value any) {
	payload, err := json.Marshal(value)
	if err != nil || len(payload) > frame.MaxPayload {
		payload, _ = json.Marshal(api.Problem{Title: "Internal Server Error", Status: 500, Detail: "the outcome can't be told"})
	}
	_ = e.write(kind, payload)
}
