package execstream

import (
	"context"
	"encoding/binary"
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

// Framed returns a connection that reads messages from in and writes them to out, each in one write. end ends both. Read
// doesn't end with its context, and neither does Write where out has no SetWriteDeadline: end does that.
func Framed(in io.Reader, out io.Writer, end func() error) Conn {
	return &framed{in: in, out: out, end: end}
}

// Read implements execwire.Conn. io.EOF is an end between messages.
func (f *framed) Read(context.Context) (websocket.MessageType, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(f.in, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length > execwire.MaxMessage {
		return 0, nil, fmt.Errorf("%w: %d bytes", websocket.ErrMessageTooBig, length)
	}
	message := make([]byte, length)
	if _, err := io.ReadFull(f.in, message); err != nil {
		if err == io.EOF { //nolint:errorlint // as io.ReadFull returns it: nothing of the message came
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, fmt.Errorf("read a message: %w", err)
	}
	return websocket.MessageType(head[0]), message, nil
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
