package frame

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	var buffer bytes.Buffer
	payloads := [][]byte{[]byte("hello"), {}, bytes.Repeat([]byte("x"), MaxPayload)}
	for i, payload := range payloads {
		if err := Write(&buffer, Kind(i), payload); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range payloads {
		kind, got, err := Read(&buffer)
		if err != nil || kind != Kind(i) || !bytes.Equal(got, want) {
			t.Errorf("frame %d: kind %d, %d bytes, %v", i, kind, len(got), err)
		}
	}
	if _, _, err := Read(&buffer); err != io.EOF {
		t.Errorf("after the last frame: %v, want io.EOF", err)
	}
}

func TestBounds(t *testing.T) {
	if err := Write(io.Discard, Stdin, make([]byte, MaxPayload+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("write: %v, want ErrTooLong", err)
	}
	if _, _, err := Read(bytes.NewReader([]byte{0, 0xff, 0xff, 0xff, 0xff})); !errors.Is(err, ErrTooLong) {
		t.Errorf("read: %v, want ErrTooLong", err)
	}
	if _, _, err := Read(bytes.NewReader([]byte{0, 0, 0, 0, 9, 'x'})); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut frame: %v, want ErrUnexpectedEOF", err)
	}
}
