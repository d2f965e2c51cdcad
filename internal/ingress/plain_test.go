package ingress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// dial opens a connection to the front, with what a client says first.
func (f *front) dial(say string) (net.Conn, *bufio.Reader) {
	f.Helper()
	at, err := url.Parse(f.url)
	if err != nil {
		f.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Host)
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
	return response, string(text)
}

// raw is a pod that answers every request with the same bytes, and counts its connections.
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
					if strings.Contains(answer, "close") || !strings.Contains(answer, "\r\nContent-Length:") && !strings.Contains(answer, "chunked") {
						return
					}
				}
			}()
		}
	}()
	return Pod{Name: "raw", Address: listener.Addr().String()}, conns
}

// TestAnswersPassAsTheyAre: however their end is told, compressed or not; and connections to the pod are used again.
func TestAnswersPassAsTheyAre(t *testing.T) {
	for name, test := range map[string]struct {
		answer, body string
		status       int
		once         bool // whether each request needs a connection of its own
	}{
		"by length":       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Mine: 1\r\n\r\nhello", "hello", 200, false},
		"in chunks":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Mine: 1\r\n\r\n3\r\nhel\r\n2;ext=1\r\nlo\r\n0\r\n\r\n", "hello", 200, false},
		"until the end":   {"HTTP/1.1 200 OK\r\nX-Mine: 1\r\n\r\nhello", "hello", 200, true},
		"of old":          {"HTTP/1.0 200 OK\r\nX-Mine: 1\r\n\r\nhello", "hello", 200, true},
		"and closing":     {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\nX-Mine: 1\r\n\r\nhello", "hello", 200, true},
		"compressed":      {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\nX-Mine: 1\r\n\r\n\x1f\x8b\x08", "\x1f\x8b\x08", 200, false},
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
				if err != nil || string(body) != test.body || response.StatusCode != test.status || response.Header.Get("X-Mine") != "1" ||
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
	for i, want := range []string{"GET /1?a=b  127.0.0.1", "", "GET /%33  127.0.0.1", "POST /4 body 127.0.0.1", "GET /5  127.0.0.1"} {
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

// TestSmuggling: what could mean two things is refused, and what follows it on the connection is not served.
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
		"a length and chunks":         "POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(second), second),
		"two lengths":                 "POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n" + second,
		"bad chunks":                  "POST / HTTP/1.1\r\nHost: shop.org\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + second,
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

// TestAHeadInPieces is put together, wherever it was cut.
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

// TestAClientThatLeaves: its pod hears of it, also where nothing was answered yet, and it counts as 499.
func TestAClientThatLeaves(t *testing.T) {
	registry := prometheus.NewRegistry()
	f := newFrontWith(t, Options{Registry: registry})
	inside, gone := make(chan struct{}), make(chan struct{})
	f.serve(podOf(t, "p", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server looks for its client once the body was read
		inside <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	for _, request := range []string{"GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n", "POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 2\r\n\r\nok"} {
		conn, _ := f.dial(request)
		<-inside
		conn.Close()
		select {
		case <-gone:
		case <-time.After(20 * time.Second):
			t.Fatalf("the pod works on for nobody: %.4s", request)
		}
	}
	if err := f.Drained(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
}

// TestAPodThatClosesKeptConnections costs no request.
func TestAPodThatClosesKeptConnections(t *testing.T) {
	f := newFront(t)
	server := httptest.NewServer(says("hello"))
	t.Cleanup(server.Close)
	f.serve(Pod{Name: "p", Address: server.Listener.Addr().String()})
	conn, reader := f.dial("")
	for n := range 20 {
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n")
		if response, text := f.read(reader, "GET"); response.StatusCode != 200 || text != "hello" {
			t.Fatalf("request %d: %s %q", n, response.Status, text)
		}
		server.CloseClientConnections()
	}
}

// TestAnAnswerThatBreaksOff is no whole one for the client.
func TestAnAnswerThatBreaksOff(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 500\r\nX: close\r\n\r\nhello", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: close\r\n\r\n5\r\nhello\r\n",
	} {
		f := newFront(t)
		pod, _ := raw(t, answer)
		f.serve(pod)
		_, reader := f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n")
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("%q counts as whole", text)
		}
	}
}

// TestLargeBodies pass in both directions without lying in memory.
func TestLargeBodies(t *testing.T) {
	const size = 200 << 20
	f := newFront(t)
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			n, _ := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, n)
			return
		}
		if r.URL.Path == "/length" {
			w.Header().Set("Content-Length", fmt.Sprint(size))
		}
		_, _ = io.CopyN(w, endless{}, size)
	}))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if _, text := f.do("POST", "/", io.LimitReader(endless{}, size)); text != fmt.Sprint(size) {
		t.Errorf("%s bytes arrived", text)
	}
	for _, path := range []string{"/length", "/chunks"} {
		conn, _ := f.dial("GET " + path + " HTTP/1.1\r\nHost: shop.org\r\nConnection: close\r\n\r\n")
		if n, err := io.Copy(io.Discard, conn); err != nil || n < size {
			t.Errorf("%s: %d bytes, %v", path, n, err)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.HeapSys - min(after.HeapSys, before.HeapSys); grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB over bodies of 200", grown>>20)
	}
}

type endless struct{}

func (endless) Read(into []byte) (int, error) { return len(into), nil }

// TestWhatIsCounted: by ingress and code, whichever way a request went; and an ingress that went is counted no more.
func TestWhatIsCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	f := newFrontWith(t, Options{Registry: registry})
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	f.do("GET", "/", nil)
	f.do("GET", "/no", nil)
	f.do("POST", "/", strings.NewReader("x"))
	f.do("GET", "/", nil, func(r *http.Request) { r.Host = "other.org" })
	want := map[string]float64{`code="200" ingress="prod/shop" `: 2, `code="404" ingress="" `: 1, `code="418" ingress="prod/shop" `: 1}
	for limit := time.Now().Add(20 * time.Second); !maps.Equal(gathered(t, registry, "tend_ingress_requests_total"), want); {
		if time.Now().After(limit) { // the last answer is counted after the client has it
			t.Fatalf("%v, want %v", gathered(t, registry, "tend_ingress_requests_total"), want)
		}
		runtime.Gosched()
	}
	if got := gathered(t, registry, "tend_ingress_request_duration_seconds"); got[`ingress="prod/shop" `] != 3 || got[`ingress="" `] != 1 {
		t.Errorf("durations: %v", got)
	}
	f.Update(nil)
	if got := gathered(t, registry, "tend_ingress_requests_total"); len(got) != 1 {
		t.Errorf("left: %v", got)
	}
}

// gathered are the values of a metric by their labels; of a histogram, how many.
func gathered(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels string
			for _, label := range metric.GetLabel() {
				labels += fmt.Sprintf("%s=%q ", label.GetName(), label.GetValue())
			}
			out[labels] = metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// TestClosingADoor: connections that wait for a request are closed, and what is under way is answered.
func TestClosingADoor(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	proxy := New(Options{})
	l := NewListeners(ListenOptions{HTTP: "127.0.0.1:0", Handler: proxy, Plain: proxy})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	opened := make(chan struct{}, 8)
	l.plain.Changed = func() { opened <- struct{}{} }
	go func() { done <- l.Run(ctx) }()
	l.Want(true, false)
	<-opened
	plain, _ := l.Doors()
	f := &front{Proxy: proxy, T: t, url: "http://" + plain.Address}
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(inside)
			<-leave
		}
		fmt.Fprint(w, "hello")
	}))
	waiting, reader := f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n")
	f.read(reader, "GET")
	_, slow := f.dial("GET /slow HTTP/1.1\r\nHost: shop.org\r\n\r\n")
	<-inside
	begun, first := f.dial("")
	_, last := f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n")
	f.read(last, "GET") // so the one before was accepted too
	cancel()
	fmt.Fprint(begun, "GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n")
	if response, text := f.read(first, "GET"); text != "hello" || !response.Close {
		t.Errorf("a first request that was on its way: %q, closing: %v", text, response.Close)
	}
	if _, err := waiting.Read(make([]byte, 1)); err == nil {
		t.Error("a connection that waits goes on")
	}
	close(leave)
	if response, text := f.read(slow, "GET"); text != "hello" || !response.Close {
		t.Errorf("%q, closing: %v", text, response.Close)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
