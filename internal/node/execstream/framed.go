package execstream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"

	"tend.dev/tend/client/execwire"
)

// framed is a Conn over streams of bytes. A message has five bytes before it: its type, and its length (big-endian).
type framed struct {
	in  io.Reader
	out io.Writer
	end func() error
	// writing keeps messages whole.
	writing sync.Mutex
}

// Framed returns a connection that reads messages from in and writes them to out, each in one write. end ends both. A
// read doesn't end with its context, and neither does a write where out has no SetWriteDeadline: end does that.
func Framed(in io.Reader, out io.Writer, end func() error) Conn {
	return &framed{in: in, out: out, end: end}
}

// Reader implements execwire.Conn. io.EOF is an end between messages.
func (f *framed) Reader(context.Context) (websocket.MessageType, io.Reader, error) {
	var head [5]byte
	if _, err := io.ReadFull(f.in, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length > execwire.MaxMessage {
		return 0, nil, fmt.Errorf("%w: %d bytes", websocket.ErrMessageTooBig, length)
	}
	return websocket.MessageType(head[0]), &message{f.in, int(length)}, nil
}

// message is the rest of a message. One that is cut off doesn't end with io.EOF.
type message struct {
	in   io.Reader
	left int
}

// Read implements io.Reader.
func (m *message) Read(p []byte) (int, error) {
	if m.left == 0 {
		return 0, io.EOF
	}
	n, err := m.in.Read(p[:min(len(p), m.left)])
	m.left -= n
	if errors.Is(err, io.EOF) && m.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Write implements execwire.Conn.
func (f *framed) Write(ctx context.Context, kind websocket.MessageType, message []byte) error {
	whole := binary.BigEndian.AppendUint32(append(make([]byte, 0, 5+len(message)), byte(kind)), uint32(len(message)))
	f.writing.Lock()
	defer f.writing.Unlock()
	if timed, ok := f.out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		cut := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(cut)
			_ = timed.SetWriteDeadline(time.Unix(1, 0))
		})
		defer func() {
			if !stop() {
				<-cut // out may not be used once Write has returned
			}
		}()
	}
	_, err := f.out.Write(append(whole, message...))
	return err
}

// Close implements Conn.
func (f *framed) Close(websocket.StatusCode, string) error { return f.end() }
