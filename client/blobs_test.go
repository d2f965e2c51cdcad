package client

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// blobServer stores uploads, and refuses compressed bodies if refuses is set.
func blobServer(t *testing.T, refuses bool) (c *Client, encodings *[]string, kept *[]byte) {
	t.Helper()
	encodings, kept = &[]string{}, &[]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		encoding := r.Header.Get("Content-Encoding")
		*encodings = append(*encodings, encoding)
		if encoding == "gzip" && refuses {
			http.Error(w, "it grows", http.StatusRequestEntityTooLarge)
			return
		}
		var body io.Reader = r.Body
		if encoding == "gzip" {
			body, _ = gzip.NewReader(body)
		}
		*kept, _ = io.ReadAll(body)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(server.Close)
	c, err := New(Options{Server: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, encodings, kept
}

func TestTreesGoCompressed(t *testing.T) {
	content := bytes.Repeat([]byte("source "), 100_000)
	again := func() (io.Reader, error) { return bytes.NewReader(content), nil }
	for refuses, want := range map[bool]string{false: "gzip", true: "gzip,"} {
		c, encodings, kept := blobServer(t, refuses)
		if err := c.PutTree(t.Context(), "sha256:x", int64(len(content)), again); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(*encodings, ","); got != want || !bytes.Equal(*kept, content) {
			t.Errorf("sent as %q, %d bytes kept", got, len(*kept))
		}
	}
}

// TestATreeThatCantBeRead: the server must not take the part of a tree that was read for the whole.
func TestATreeThatCantBeRead(t *testing.T) {
	c, _, _ := blobServer(t, false)
	torn := errors.New("the disk is torn")
	err := c.PutTree(t.Context(), "sha256:x", 100, func() (io.Reader, error) {
		return io.MultiReader(strings.NewReader("half"), errorReader{torn}), nil
	})
	if !errors.Is(err, torn) {
		t.Errorf("%v", err)
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }
