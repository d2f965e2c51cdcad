package ingress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestAClientThatLeaves: its pod notices, also if nothing was answered yet, and the request counts as 499.
func TestAClientThatLeaves(t *testing.T) {
	registry := prometheus.NewRegistry()
	f := newFrontWith(t, Options{Registry: registry})
	inside, gone := make(chan struct{}), make(chan struct{})
	f.serve(podOf(t, "p", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server checks for its client once the body was read
		inside <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	for _, request := range []string{"GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 2\r\n\r\nok"} {
		conn, _ := f.dial(request)
		<-inside
		conn.Close()
		select {
		case <-gone:
		case <-time.After(20 * time.Second):
			t.Fatalf("the pod works on without a client: %.4s", request)
		}
	}
	if err := f.Drained(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
}

// TestAPodThatEndsWithoutAnAnswer: the answer distinguishes a pod that was not reached, one that ended by itself, and
// one that was stopped after its grace period.
func TestAPodThatEndsWithoutAnAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		stopped bool
		want    string
	}{
		"by itself": {false, "502 the pod ended the connection without an answer\n"},
		"stopped": {true,
			"502 the pod was replaced or stopped, and the request took longer than strategy.drain: " +
				"send it again, or raise strategy.drain\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t)
			inside, over := make(chan struct{}), make(chan struct{})
			f.serve(podOf(t, "p", func(w http.ResponseWriter, _ *http.Request) {
				inside <- struct{}{}
				<-over
				if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
					conn.Close()
				}
			}))
			_, reader := f.dial("POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 5\r\n\r\nwhole")
			<-inside
			if test.stopped {
				f.Update(nil)
			}
			close(over)
			response, text := f.read(reader, "POST")
			if response.StatusCode != http.StatusBadGateway || text != test.want {
				t.Errorf("%s %q, want %q", response.Status, text, test.want)
			}
		})
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

// TestAnAnswerThatBreaksOff is reported to the client as incomplete.
func TestAnAnswerThatBreaksOff(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 500\r\nX: close\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: close\r\n\r\n5\r\nhello\r\n",
	} {
		f := newFront(t)
		pod, _ := raw(t, answer)
		f.serve(pod)
		_, reader := f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n")
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Error(err)
			}
			continue // the beginning wasn't passed on either
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

// TestWhatIsCounted: by ingress and code, whichever path a request took; a deleted ingress is not counted any more.
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
	want := map[string]float64{`code="200" ingress="prod/shop" `: 2, `code="404" ingress="" `: 1,
		`code="418" ingress="prod/shop" `: 1}
	for limit := time.Now().Add(20 * time.Second); !maps.Equal(gathered(t, registry, "tend_ingress_requests_total"),
		want); {
		if time.Now().After(limit) { // the last answer is counted after the client has it
			t.Fatalf("%v, want %v", gathered(t, registry, "tend_ingress_requests_total"), want)
		}
		runtime.Gosched()
	}
	if got := gathered(t, registry, "tend_ingress_request_duration_seconds"); got[`ingress="prod/shop" `] != 3 ||
		got[`ingress="" `] != 1 {
		t.Errorf("durations: %v", got)
	}
	f.Update(nil)
	if got := gathered(t, registry, "tend_ingress_requests_total"); len(got) != 1 {
		t.Errorf("left: %v", got)
	}
}

// gathered returns the values of a metric by their labels; of a histogram, how many.
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

// TestClosingAListener: connections that wait for a request are closed, and requests in flight are answered.
func TestClosingAListener(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	proxy := New(Options{})
	opened := make(chan struct{}, 8)
	l := NewListeners(ListenOptions{HTTP: "127.0.0.1:0", Handler: proxy, Changed: func() { opened <- struct{}{} }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	l.Want(true, false)
	<-opened
	plain, _ := l.States()
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
	if _, text := f.read(first, "GET"); text != "hello" { // it may be served before the listener begins to close
		t.Errorf("a first request that was on its way: %q", text)
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
