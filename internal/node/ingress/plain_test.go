package ingress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// dial opens a connection to the front and sends the client's first bytes.
func (f *front) dial(say string) (net.Conn, *bufio.Reader) {
	f.Helper()
	return f.dialFrom("", say)
}

// dialFrom is dial from one of the machine's own addresses; "" leaves the choice to the kernel.
func (f *front) dialFrom(address, say string) (net.Conn, *bufio.Reader) {
	f.Helper()
	at, err := url.Parse(f.url)
	if err != nil {
		f.Fatal(err)
	}
	dialer := net.Dialer{}
	if address != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(address)}
	}
	conn, err := dialer.Dial("tcp", at.Host)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { conn.Close() })
	fmt.Fprint(conn, say)
	return conn, bufio.NewReader(conn)
}

func (f *front) read(from *bufio.Reader, method string) (*http.Response, string) {
	f.Helper()
	response, err := http.ReadResponse(from, &http.Request{Method: method})
	if err != nil {
		f.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		f.Fatal(err)
	}
	if strings.Contains(string(text), "prod") {
		f.Errorf("a visitor learns the scope of an ingress: %s", text)
	}
	return response, string(text)
}

// raw returns a pod that answers every request with the same bytes, and counts its connections.
func raw(t *testing.T, answer string) (Pod, *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	conns := new(atomic.Int64)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Add(1)
			go func() {
				defer conn.Close()
				for reader := bufio.NewReader(conn); ; {
					request, err := http.ReadRequest(reader)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, request.Body)
					fmt.Fprint(conn, answer)
					if strings.Contains(answer, "close") ||
						!strings.Contains(answer, "\r\nContent-Length:") && !strings.Contains(answer, "chunked") {
						return
					}
				}
			}()
		}
	}()
	return Pod{Name: "raw", Address: listener.Addr().String()}, conns
}

// TestAnswersPassAsTheyAre: with any kind of end, compressed or not. Connections to the pod are used again.
func TestAnswersPassAsTheyAre(t *testing.T) {
	for name, test := range map[string]struct {
		answer, body string
		status       int
		once         bool // whether each request needs a connection of its own
	}{
		"by length":     {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Mine: 1\r\n\r\nhello", "hello", 200, false},
		"in chunks":     {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Mine: 1\r\n\r\n3\r\nhel\r\n2;ext=1\r\nlo\r\n0\r\n\r\n", "hello", 200, false},
		"until the end": {"HTTP/1.1 200 OK\r\nX-Mine: 1\r\n\r\nhello", "hello", 200, true},
		"of old":        {"HTTP/1.0 200 OK\r\nX-Mine: 1\r\n\r\nhello", "hello", 200, true},
		"and closing": {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\nX-Mine: 1\r\n\r\nhello",
			"hello", 200, true},
		"compressed": {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\nX-Mine: 1\r\n\r\n\x1f\x8b\x08",
			"\x1f\x8b\x08", 200, false},
		"without a body":  {"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\nX-Mine: 1\r\n\r\n", "", 304, false},
		"an error":        {"HTTP/1.1 500 Oops\r\nContent-Length: 2\r\nX-Mine: 1\r\n\r\nno", "no", 500, false},
		"after hints":     {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Mine: 1\r\n\r\nhello", "hello", 200, false},
		"with two colons": {"HTTP/1.1 200 OK\r\nX-Mine: 1\r\nX: a:b\r\nContent-Length: 0\r\n\r\n", "", 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t)
			pod, conns := raw(t, test.answer)
			f.serve(pod)
			const asked = 4
			conn, reader := f.dial("")
			for range asked {
				fmt.Fprint(conn, "GET /a HTTP/1.1\r\nHost: shop.org\r\n\r\n")
				response, err := http.ReadResponse(reader, nil)
				for err == nil && response.StatusCode == 103 {
					response, err = http.ReadResponse(reader, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				if err != nil || string(body) != test.body || response.StatusCode != test.status ||
					response.Header.Get("X-Mine") != "1" ||
					response.Header.Get("Date") == "" && response.StatusCode != 304 || response.Header.Get("Keep-Alive") != "" {
					t.Fatalf("%v %v %q %v", response.Status, response.Header, body, err)
				}
			}
			if got := conns.Load(); test.once && got < asked || !test.once && got > 2 {
				t.Errorf("%d connections for %d requests", got, asked)
			}
		})
	}
}

// TestManyRequestsOnOneConnection: plain ones and others, sent at once, are answered in order.
func TestManyRequestsOnOneConnection(t *testing.T) {
	f := newFront(t)
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.RequestURI, body, r.Header.Get("X-Forwarded-For"))
	}))
	_, reader := f.dial("GET /1?a=b HTTP/1.1\r\nHost: shop.org\r\nX-Forwarded-For: 6.6.6.6\r\n\r\nHEAD /2 HTTP/1.1\r\nHost: SHOP.org:80\r\n\r\n" +
		"GET /%33 HTTP/1.1\r\nHost: shop.org\r\n\r\nPOST /4 HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 4\r\n\r\nbodyGET /5 HTTP/1.1\r\nHost: shop.org\r\nConnection: close\r\n\r\n")
	for i, want := range []string{"GET /1?a=b  127.0.0.1", "", "GET /%33  127.0.0.1", "POST /4 body 127.0.0.1",
		"GET /5  127.0.0.1"} {
		method := "GET"
		if i == 1 {
			method = "HEAD"
		}
		if response, got := f.read(reader, method); got != want || response.StatusCode != 200 {
			t.Errorf("answer %d: %s %q, want %q", i+1, response.Status, got, want)
		}
	}
	if _, err := reader.ReadByte(); err != io.EOF {
		t.Errorf("the connection goes on: %v", err)
	}
}

// TestSmuggling: an ambiguous request is refused, and no later request on the connection is served.
func TestSmuggling(t *testing.T) {
	f := newFront(t)
	var asked atomic.Int64
	f.serve(podOf(t, "p", func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/smuggled" {
			asked.Add(1)
		}
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	const second = "GET /smuggled HTTP/1.1\r\nHost: shop.org\r\n\r\n"
	for name, first := range map[string]string{
		"a length and chunks": "POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(second), second),
		"two lengths": "POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n" +
			second,
		"bad chunks": "POST / HTTP/1.1\r\nHost: shop.org\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" +
			second,
		"a space before the colon":    "GET / HTTP/1.1\r\nHost: shop.org\r\nContent-Length : 44\r\n\r\n" + second,
		"an unknown encoding":         "POST / HTTP/1.1\r\nHost: shop.org\r\nTransfer-Encoding: xchunked\r\n\r\n" + second,
		"a signed length":             "POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: +44\r\n\r\n" + second,
		"a GET's body is not another": "GET / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 44\r\n\r\n" + second,
	} {
		asked.Store(0)
		conn, reader := f.dial(first)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, reader)
		if asked.Load() > 0 {
			t.Errorf("%s: the second request was served", name)
		}
	}
}

// TestWhatBelongsToOneConnection is not passed on, either way.
func TestWhatBelongsToOneConnection(t *testing.T) {
	f := newFront(t)
	var got http.Header
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		w.Header().Set("Connection", "X-Ours")
		w.Header().Set("X-Ours", "1")
		w.Header().Set("Keep-Alive", "timeout=1")
	}))
	_, reader := f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\nConnection: keep-alive, X-Theirs\r\nX-Theirs: 1\r\nKeep-Alive: 5\r\nProxy-Authorization: x\r\nTe: gzip\r\n\r\n")
	response, _ := f.read(reader, "GET")
	for _, name := range []string{"X-Theirs", "Keep-Alive", "Proxy-Authorization", "Te"} {
		if got.Get(name) != "" {
			t.Errorf("the pod got %s", name)
		}
	}
	for _, name := range []string{"X-Ours", "Keep-Alive"} {
		if response.Header.Get(name) != "" {
			t.Errorf("the client got %s", name)
		}
	}
}

// TestHugeHeads: one that is too long is refused.
func TestHugeHeads(t *testing.T) {
	f := newFront(t)
	f.serve(podOf(t, "p", says("hello")))
	_, reader := f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\nX: " + strings.Repeat("x", 32<<10) + "\r\n\r\n")
	if response, _ := f.read(reader, "GET"); response.StatusCode != 200 {
		t.Errorf("32 KiB: %s", response.Status)
	}
	_, reader = f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\nX: " + strings.Repeat("x", 128<<10) + "\r\n\r\n")
	if response, _ := f.read(reader, "GET"); response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("128 KiB: %s", response.Status)
	}
}

// TestAHeadInPieces is assembled, wherever it was split.
func TestAHeadInPieces(t *testing.T) {
	f := newFront(t)
	f.serve(podOf(t, "p", says("hello")))
	const head = "GET / HTTP/1.1\r\nHost: shop.org\r\nConnection: close\r\n\r\n"
	for _, cut := range []int{1, 10, 20, len(head) - 1} {
		conn, reader := f.dial(head[:cut])
		fmt.Fprint(conn, head[cut:])
		if _, text := f.read(reader, "GET"); text != "hello" {
			t.Errorf("cut at %d: %q", cut, text)
		}
	}
}
