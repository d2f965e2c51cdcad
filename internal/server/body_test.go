package server_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/blob"
)

// dialRaw opens a connection to the API and sends the client's first bytes.
func dialRaw(t *testing.T, w *world, say string) (net.Conn, *bufio.Reader) {
	t.Helper()
	at, err := url.Parse(w.http)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprint(conn, say)
	return conn, bufio.NewReader(conn)
}

// TestBodiesThatCannotBeRead are the client's fault, on every kind of route: one that huma reads, one that it does not,
// and one that keeps files.
func TestBodiesThatCannotBeRead(t *testing.T) {
	blobs, err := blob.Open(blob.Options{Root: t.TempDir(), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *server.Options) { o.Blobs, o.MaxBlob = blobs, 1<<20 })
	digest := "sha256:" + strings.Repeat("0", 64)
	for name, body := range map[string]string{
		"a malformed chunk": "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
		"a chunk too short": "Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx\r\n0\r\n\r\n",
	} {
		for _, route := range []string{"POST /v1/apply", "POST /v1/config?scope=prod", "PUT /v1/blobs/" + digest} {
			_, reader := dialRaw(t, w, route+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+
				"\r\nContent-Type: application/json\r\n"+body)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != http.StatusBadRequest {
				t.Errorf("%s to %s: %s", name, route, response.Status)
			}
			response.Body.Close()
		}
	}
}

// TestChunksEndAConnection: see the ingress' test of the name.
func TestChunksEndAConnection(t *testing.T) {
	w := newWorld(t)
	head := " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\nContent-Type: application/json\r\n"
	next := "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, c := range map[string]struct {
		body   string
		closes bool
	}{
		"both":   {"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", true},
		"length": {"Content-Length: 2\r\n\r\n{}", false},
	} {
		_, reader := dialRaw(t, w, "POST /v1/apply"+head+c.body+next)
		first, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		var problem [4096]byte
		for err == nil {
			_, err = first.Body.Read(problem[:])
		}
		if _, err = http.ReadResponse(reader, nil); c.closes != (err != nil) {
			t.Errorf("%s: the next request of the connection: %v", name, err)
		}
	}
}
