package ingress

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestExpectContinue: a client that waits for 100 Continue gets it from its pod, or an answer before it sent the body.
func TestExpectContinue(t *testing.T) {
	f := newFront(t)
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusExpectationFailed)
			return
		}
		sent, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "got %s", sent)
	}))
	const head = " HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
	conn, reader := f.dial("POST /yes" + head)
	if response, _ := f.read(reader, "POST"); response.StatusCode != http.StatusContinue {
		t.Fatalf("no leave: %s", response.Status)
	}
	fmt.Fprint(conn, "hello")
	for {
		response, text := f.read(reader, "POST")
		if response.StatusCode == http.StatusContinue {
			continue
		}
		if response.StatusCode != 200 || text != "got hello" {
			t.Errorf("%s %q", response.Status, text)
		}
		break
	}
	_, reader = f.dial("POST /no" + head)
	if response, _ := f.read(reader, "POST"); response.StatusCode != http.StatusExpectationFailed {
		t.Errorf("refused: %s", response.Status)
	}
}

// TestTrailersPassBothWays over HTTP/1.
func TestTrailersPassBothWays(t *testing.T) {
	f := newFront(t)
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		sent, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s", sent, r.Trailer.Get("X-Mine"))
		w.Header().Set("X-Sum", "42")
	}))
	_, reader := f.dial("POST / HTTP/1.1\r\nHost: shop.org\r\nTe: trailers\r\nTransfer-Encoding: chunked\r\nTrailer: X-Mine\r\n\r\n" +
		"5\r\nhello\r\n0\r\nX-Mine: 1\r\n\r\n")
	response, text := f.read(reader, "POST")
	if text != "hello 1" || response.Trailer.Get("X-Sum") != "42" {
		t.Errorf("%q, trailers %v", text, response.Trailer)
	}
	_, reader = f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n")
	if response, _ = f.read(reader, "GET"); response.Trailer.Get("X-Sum") != "42" {
		t.Errorf("of a plain request: %v", response.Trailer)
	}
}

// TestAnAnswerBeforeTheBody reaches the client that is still sending.
func TestAnAnswerBeforeTheBody(t *testing.T) {
	f := newFront(t)
	f.serve(script(t, func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			fmt.Fprint(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
			_, _ = io.Copy(io.Discard, conn)
		}
	}))
	_, reader := f.dial("POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 1000000\r\n\r\nthe beginning")
	if response, text := f.read(reader, "POST"); response.StatusCode != http.StatusForbidden || text != "no" {
		t.Errorf("%s %q", response.Status, text)
	}
	if err := f.Drained(t.Context(), "script"); err != nil {
		t.Error(err)
	}
}

// TestOneSideOfAnUpgradedConnectionEnds: the other side continues until it has ended too.
func TestOneSideOfAnUpgradedConnectionEnds(t *testing.T) {
	f := newFront(t)
	const ask = "GET / HTTP/1.1\r\nHost: shop.org\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
	heard := make(chan string, 1)
	for name, pod := range map[string]func(conn net.Conn, from io.Reader){
		"the client's": func(conn net.Conn, from io.Reader) {
			said, _ := io.ReadAll(from)
			fmt.Fprintf(conn, "all of it: %s", said)
			heard <- string(said)
		},
		"the pod's": func(conn net.Conn, from io.Reader) {
			fmt.Fprint(conn, "all of it: ")
			_ = conn.(*net.TCPConn).CloseWrite()
			said, _ := io.ReadAll(from)
			heard <- string(said)
		},
	} {
		f.serve(script(t, func(conn net.Conn) {
			reader := bufio.NewReader(conn)
			if _, err := http.ReadRequest(reader); err == nil {
				fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				pod(conn, reader)
			}
		}))
		conn, reader := f.dial(ask + "early ")
		if response, err := http.ReadResponse(reader, nil); err != nil ||
			response.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%v %v", response, err)
		}
		want := "all of it: early late"
		if name == "the pod's" {
			if text, _ := io.ReadAll(reader); string(text) != "all of it: " {
				t.Errorf("%s: %q", name, text)
			}
			want = ""
		}
		fmt.Fprint(conn, "late")
		_ = conn.(*net.TCPConn).CloseWrite()
		if text, _ := io.ReadAll(reader); string(text) != want {
			t.Errorf("%s: %q", name, text)
		}
		if got := <-heard; got != "early late" {
			t.Errorf("%s: the pod heard %q", name, got)
		}
		if err := f.Drained(t.Context(), "script"); err != nil {
			t.Error(err)
		}
	}
}

// TestRequestsTakenBack: an HTTP/2 client that cancels its requests as fast as it makes them has no more of them in
// flight than one connection may have, and others are served.
func TestRequestsTakenBack(t *testing.T) {
	proxy := New(Options{})
	proxy.Update([]Route{{Ingress: shop, Host: "shop.org",
		Pods: []Pod{podOf(t, "p", func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/forever" {
				<-r.Context().Done()
			}
		})}}})
	var now, most atomic.Int64
	l, until := listeners(t, ListenOptions{HTTP: "127.0.0.1:0",
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := now.Add(1)
			defer now.Add(-1)
			for before := most.Load(); n > before && !most.CompareAndSwap(before, n); before = most.Load() {
			}
			proxy.ServeHTTP(w, r)
		})})
	l.Want(true, false)
	f := &front{Proxy: proxy, T: t, url: "http://" + until("it opens", isOpen).Address}
	conn, _ := f.dial(http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for n := range uint32(3000) {
		block.Reset()
		for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":path", "/forever"},
			{":authority", "shop.org"}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		id := 2*n + 1
		err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(),
			EndStream: true, EndHeaders: true})
		if err == nil {
			err = framer.WriteRSTStream(id, http2.ErrCodeCancel)
		}
		if err != nil {
			break // the server stopped reading
		}
	}
	if response, _ := f.do("GET", "/", nil); response.StatusCode != 200 {
		t.Errorf("another client: %s", response.Status)
	}
	if got := most.Load(); got == 0 || got > 250+1 {
		t.Errorf("%d requests were under way at a time", got)
	}
	conn.Close()
	if err := proxy.Drained(t.Context(), "p"); err != nil {
		t.Error(err)
	}
}

// TestPathsOfDots are refused: a pod that resolves them would serve a path of another route.
func TestPathsOfDots(t *testing.T) {
	f := newFront(t)
	p := podOf(t, "p", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RequestURI) })
	f.Update([]Route{{Ingress: shop, Host: "shop.org", Path: "/open", Pods: []Pod{p}}})
	for path, want := range map[string]int{
		"/open/../admin": 400, "/open/%2e%2E/admin": 400, "/open/..": 400, "/open/.": 400, "/open/./a": 400,
		"/open/..%2fadmin": 400,
		"/open/...":        200, "/open/.a": 200, "/open/a..": 200, "/open/..a/b": 200, "/open/.well-known/x": 200,
		"/open/?a=/../": 200,
	} {
		_, reader := f.dial("GET " + path + " HTTP/1.1\r\nHost: shop.org\r\n\r\n")
		if response, text := f.read(reader, "GET"); response.StatusCode != want || want == 200 && text != path {
			t.Errorf("%s: %s %q, want %d", path, response.Status, text, want)
		}
	}
}
