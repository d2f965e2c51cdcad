// Package frame is the framing of an exec stream: the protocol both ends speak after the upgrade to Protocol.
//
// A frame is one byte of kind, four bytes of length (big-endian) and the payload. The client sends Stdin, Resize and
// Close; the server sends Stdout, Stderr, and at the end exactly one Exit or Error. It decides nothing.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Protocol is the name in the Upgrade header.
const Protocol = "tend-exec/1"

// MaxPayload bounds a frame; a longer one is refused unread.
const MaxPayload = 64 << 10

// Kind says what a frame carries.
type Kind byte

// The kinds of frames.
const (
	Stdin  Kind = 0 // bytes for the command
	Stdout Kind = 1 // bytes of the command; with a TTY everything
	Stderr Kind = 2
	Resize Kind = 3 // JSON Size
	Close  Kind = 4 // the client's input has ended
	Exit   Kind = 5 // JSON Status: the command ended
	Error  Kind = 6 // JSON api.Problem: the stream broke
)

// Size is a terminal's.
type Size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Status is how a command ended.
type Status struct {
	Code int `json:"code"`
}

// ErrTooLong is a frame beyond MaxPayload.
var ErrTooLong = errors.New("frame too long")

// Write sends one frame in one write.
func Write(w io.Writer, kind Kind, payload []byte) error {
	if len(payload) > MaxPayload {
		return fmt.Errorf("%w: %d bytes", ErrTooLong, len(payload))
	}
	out := make([]byte, 5+len(payload))
	out[0] = byte(kind)
	binary.BigEndian.PutUint32(out[1:], uint32(len(payload)))
	copy(out[5:], payload)
	_, err := w.Write(out)
	return err
}

// Read receives one frame. io.EOF is a clean end between frames.
func Read(r io.Reader) (Kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length > MaxPayload {
		return 0, nil, fmt.Errorf("%w: %d bytes", ErrTooLong, length)
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(r, payload); err != nil {
		if err == io.EOF { // nothing of the payload came: the frame is cut, and io.EOF would say that the stream ended cleanly
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, fmt.Errorf("read frame: %w", err)
	}
	return Kind(head[0]), payload, nil
}
