package execstream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"tend.dev/tend/client/execwire"
	"tend.dev/tend/internal/node/execstream"
)

// FuzzFramed reads messages from arbitrary bytes: none is longer than its bound, a message that is cut off is not a
// clean end, and the messages that were read write the same bytes again.
func FuzzFramed(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 2, 0, 'h', 1, 0, 0, 0, 0})
	f.Add([]byte{1, 0, 0, 0, 19, '{', '"', 'e', 'x', 'i', 't', '"', ':', '{', '"', 'c', 'o', 'd', 'e',
		'"', ':', '0', '}', '}'})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		var written bytes.Buffer
		messages := execstream.Framed(bytes.NewReader(data), &written, func() error { return nil })
		for {
			whole := written.Len()
			kind, reader, err := messages.Reader(context.Background())
			var message []byte
			if err == nil {
				message, err = io.ReadAll(reader)
			}
			if err != nil {
				if clean := errors.Is(err, io.EOF); clean != (whole == len(data)) {
					t.Fatalf("%v after %d of %d bytes", err, whole, len(data))
				}
				break
			}
			if len(message) > execwire.MaxMessage {
				t.Fatalf("a message of %d bytes", len(message))
			}
			if err := messages.Write(context.Background(), kind, message); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(data, written.Bytes()) {
			t.Fatalf("%q became %q", data, written.Bytes())
		}
	})
}
