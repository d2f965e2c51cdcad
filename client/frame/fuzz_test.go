package frame

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// FuzzRead reads frames from arbitrary bytes: a payload is never longer than its bound, a cut frame is not a clean end,
// and the frames that were read write the same bytes again.
func FuzzRead(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 2, 'h', 'i', 4, 0, 0, 0, 0})
	f.Add([]byte{5, 0, 0, 0, 10, '{', '"', 'c', 'o', 'd', 'e', '"', ':', '0', '}'})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		input := bytes.NewReader(data)
		var written bytes.Buffer
		for {
			whole := written.Len()
			kind, payload, err := Read(input)
			if err != nil {
				if clean := errors.Is(err, io.EOF); clean != (whole == len(data)) {
					t.Fatalf("%v after %d of %d bytes", err, whole, len(data))
				}
				break
			}
			if len(payload) > MaxPayload {
				t.Fatalf("a payload of %d bytes", len(payload))
			}
			if err := Write(&written, kind, payload); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(data, written.Bytes()) {
			t.Fatalf("%q became %q", data, written.Bytes())
		}
	})
}
