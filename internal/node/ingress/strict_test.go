package ingress

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestHostsThatAreNone are refused before a route is looked for.
func TestHostsThatAreNone(t *testing.T) {
	f := newFront(t)
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host) }))
	for host, want := range map[string]int{"shop.org": 200, "shop.org:80": 200, "shop.org:abc": 400,
		"shop.org:99999": 400, "a@shop.org": 400} {
		_, reader := f.dial("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
		if response, text := f.read(reader, "GET"); response.StatusCode != want {
			t.Errorf("%s: %s %s, want %d", host, response.Status, text, want)
		}
	}
}

// TestChunksEndAConnection: a request with a Content-Length beside its chunks is the last one of its connection.
// Otherwise one server's body could be another's next request.
func TestChunksEndAConnection(t *testing.T) {
	f := newFront(t)
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s", r.URL.Path, sent)
	}))
	const next = "GET /next HTTP/1.1\r\nHost: shop.org\r\n\r\n"
	for name, c := range map[string]struct {
		head, body string
		closes     bool
	}{
		"both":   {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n", true},
		"chunks": {"Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n", true},
		"length": {"Content-Length: 3\r\n", "abc", false},
	} {
		_, reader := f.dial("POST /first HTTP/1.1\r\nHost: shop.org\r\n" + c.head + "\r\n" + c.body + next)
		if _, text := f.read(reader, "POST"); text != "/first abc" {
			t.Errorf("%s: the pod got %q", name, text)
		}
		_, err := http.ReadResponse(reader, nil)
		if c.closes != (err != nil) {
			t.Errorf("%s: the next request of the connection: %v", name, err)
		}
	}
}

// TestWhatPassesOfAClientsClaims: headers that only a proxy in front may set don't reach the pod from a client.
func TestWhatPassesOfAClientsClaims(t *testing.T) {
	f := newFront(t)
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		var lines []string
		for name, values := range r.Header {
			lines = append(lines, name+"="+strings.Join(values, ","))
		}
		slices.Sort(lines)
		fmt.Fprint(w, strings.Join(lines, "\n"))
	}))
	var head strings.Builder
	for _, name := range []string{
		"X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Ssl", "X-Forwarded-Scheme", "X-Forwarded-Server",
		"X-Forwarded-Anything", "Forwarded",
		"X-Original-URL", "X-Original-Host", "X-Rewrite-URL", "X-Real-Ip", "Front-End-Https", "x_forwarded_port",
	} {
		head.WriteString(name + ": evil\r\n")
	}
	_, reader := f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\nX-Mine: mine\r\n" + head.String() + "\r\n")
	_, text := f.read(reader, "GET")
	if strings.Contains(text, "evil") || !strings.Contains(text, "X-Mine=mine") ||
		!strings.Contains(text, "X-Forwarded-For=127.0.0.1") {
		t.Errorf("the pod got\n%s", text)
	}
}
