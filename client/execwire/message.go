package execwire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/coder/websocket"

	"tend.dev/tend/api"
)

// Protocol is the name of the WebSocket's subprotocol.
const Protocol = "v1.exec.tend.dev"

// MaxMessage is the most bytes that a message may have. Those that this package writes for a stream are smaller.
const MaxMessage = 1 << 20

// part is the maximal number of bytes of a stream in one message.
const part = 32 << 10

// Stream is the first byte of a binary message.
type Stream byte

// The streams of a command.
const (
	Stdin  Stream = 0
	Stdout Stream = 1
	Stderr Stream = 2
)

// Control is a text message. One field is set.
type Control struct {
	// Resize and EOF come from the client.
	Resize *Size `json:"resize,omitempty"`
	EOF    bool  `json:"eof,omitempty"`
	// Exit and Error come from the server.
	Exit  *Status      `json:"exit,omitempty"`
	Error *api.Problem `json:"error,omitempty"`
}

// Size is a terminal's.
type Size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Status is the end of a command: its exit code.
type Status struct {
	Code int `json:"code"`
}

// Conn carries messages. *websocket.Conn implements it.
type Conn interface {
	// Reader returns the next message, to be read whole. Where ctx ends first, the connection ends.
	Reader(ctx context.Context) (websocket.MessageType, io.Reader, error)
	// Write sends a message; calls may overlap. Where ctx ends first, the connection ends.
	Write(ctx context.Context, kind websocket.MessageType, message []byte) error
}

// ErrMalformed means that a message doesn't belong to the protocol.
var ErrMalformed = errors.New("not a message of " + Protocol)

// Receive returns the next message: either a Control, or bytes of a stream, which are in buffer and so valid until its
// next use. It returns ErrMalformed for any other message, and io.ErrUnexpectedEOF if the connection ended: the end of
// a command is a message.
func Receive(
	ctx context.Context, conn Conn, buffer *bytes.Buffer,
) (control *Control, stream Stream, data []byte, err error) {
	kind, reader, err := conn.Reader(ctx)
	buffer.Reset()
	if err == nil {
		_, err = buffer.ReadFrom(reader)
	}
	message := buffer.Bytes()
	switch {
	case errors.Is(err, io.EOF):
		return nil, 0, nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, 0, nil, err
	case kind == websocket.MessageText:
		control = &Control{}
		if err := json.Unmarshal(message, control); err != nil {
			return nil, 0, nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		return control, 0, nil, nil
	case len(message) == 0:
		return nil, 0, nil, fmt.Errorf("%w: it is empty", ErrMalformed)
	}
	return nil, Stream(message[0]), message[1:], nil
}

// Send sends v as a text message: a Control, or the client's request. It returns the connection's error.
func Send(ctx context.Context, conn Conn, v any) error {
	message, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageText, message)
}

// Writer returns a writer of a stream. Write returns the connection's error.
func Writer(ctx context.Context, conn Conn, stream Stream) io.Writer {
	return writer(func(p []byte) (written int, err error) {
		for len(p) > 0 {
			n := min(len(p), part)
			message := append(append(make([]byte, 0, 1+n), byte(stream)), p[:n]...)
			if err := conn.Write(ctx, websocket.MessageBinary, message); err != nil {
				return written, err
			}
			written, p = written+n, p[n:]
		}
		return written, nil
	})
}

type writer func([]byte) (int, error)

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) { return w(p) }

// Output passes a command's output to the writers, and returns its exit code. Nil writers discard. It returns the
// server's *api.Problem, the error of a writer, or the reason why the connection was cut.
func Output(ctx context.Context, conn Conn, stdout, stderr io.Writer) (int, error) {
	var buffer bytes.Buffer
	for {
		control, stream, data, err := Receive(ctx, conn, &buffer)
		switch {
		case err != nil:
			return 0, fmt.Errorf("the connection was cut before the command ended: %w", err)
		case control != nil && control.Exit != nil:
			return control.Exit.Code, nil
		case control != nil && control.Error != nil:
			return 0, control.Error
		case control == nil && stream == Stdout && stdout != nil:
			_, err = stdout.Write(data)
		case control == nil && stream == Stderr && stderr != nil:
			_, err = stderr.Write(data)
		}
		if err != nil {
			return 0, err
		}
	}
}
