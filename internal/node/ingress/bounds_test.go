package ingress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// within returns a front whose bounds are the test's.
func within(t *testing.T, opts Options, places int, edit func(p *Proxy, plain *listener)) *front {
	t.Helper()
	proxy := New(opts)
	l, until := listeners(t, ListenOptions{HTTP: "127.0.0.1:0", Handler: proxy, Connections: places})
	if edit != nil {
		edit(proxy, l.plain)
	}
	l.Want(true, false)
	return &front{Proxy: proxy, T: t, url: "http://" + until("it opens", isOpen).Address}
}

const plainGet = "GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n"

// TestATricklingHead is cut off, wherever it stops, and others are served meanwhile.
func TestATricklingHead(t *testing.T) {
	f := within(t, Options{}, 0, func(_ *Proxy, plain *listener) { plain.head = 200 * time.Millisecond })
	f.serve(podOf(t, "p", says("hello")))
	for _, first := range []string{"G", "GET / HTTP/1.1\r\nHost: shop.org\r\nX: ", plainGet + "GET"} {
		conn, reader := f.dial(first)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				if _, err := fmt.Fprint(conn, "x"); err != nil {
					return
				}
				if _, text := f.do("GET", "/", nil); text != "hello" {
					f.Errorf("another client got %q", text)
					return
				}
			}
		}()
		if strings.HasPrefix(first, plainGet) {
			f.read(reader, "GET")
		}
		if _, err := io.Copy(io.Discard, reader); isTimeout(err) {
			t.Errorf("%q: %v", first, err)
		}
		conn.Close()
		<-done
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

// TestABodyThatStops is answered with 408, and one whose client leaves ends its request: neither is the pod's fault.
func TestABodyThatStops(t *testing.T) {
	f := within(t, Options{}, 0, func(p *Proxy, _ *listener) { p.body = 200 * time.Millisecond })
	ended := make(chan struct{}, 4)
	f.serve(podOf(t, "p", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		ended <- struct{}{}
	}))
	const half = "POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 10\r\n\r\nhello"
	_, reader := f.dial(half)
	if response, _ := f.read(reader, "POST"); response.StatusCode != http.StatusRequestTimeout {
		t.Errorf("it stops: %s", response.Status)
	}
	<-ended
	conn, _ := f.dial(half)
	conn.Close()
	<-ended
	if err := f.Drained(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if got := f.pods.named("p")[0].failureCount(); got != 0 {
		t.Errorf("the pod is blamed %d times", got)
	}
}

// TestATricklingBody is answered with 408 though it never stops: with a byte now and then it would hold its place
// forever.
func TestATricklingBody(t *testing.T) {
	f := within(t, Options{}, 0, func(p *Proxy, _ *listener) { p.body, p.bodyRate = time.Second, 1<<20 })
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	conn, reader := f.dial("POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 100000000\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := fmt.Fprint(conn, "x"); err != nil {
				return
			}
			if status, _ := f.do("GET", "/", nil); status.StatusCode != http.StatusOK {
				f.Errorf("another client got %s", status.Status)
				return
			}
		}
	}()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if response, _ := f.read(reader, "POST"); response.StatusCode != http.StatusRequestTimeout {
		t.Error(response.Status)
	}
	conn.Close()
	<-done
}

// TestABodyAtTheRate passes: only a slower one is cut off.
func TestABodyAtTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &sent{ReadCloser: &paced{each: time.Second, piece: bodyRate}, limit: bodyTime,
			budget: bodyTime, rate: bodyRate}
		for range 1000 {
			if _, err := body.Read(make([]byte, 4096)); err != nil {
				t.Fatal(err)
			}
		}
		if body.budget != bodyTime {
			t.Errorf("%s are left of its time", body.budget)
		}
		body.ReadCloser = &paced{each: time.Second, piece: bodyRate / 2}
		for range 200 {
			_, _ = body.Read(make([]byte, 4096))
		}
		if want := bodyTime - 100*time.Second; body.budget != want {
			t.Errorf("at half the rate %s are left of its time, want %s", body.budget, want)
		}
	})
}

// paced is a body that arrives in pieces.
type paced struct {
	each  time.Duration
	piece int
}

func (p *paced) Read([]byte) (int, error) { time.Sleep(p.each); return p.piece, nil }
func (p *paced) Close() error             { return nil }

// TestAPodThatNeverAnswers: its client gets an error that says so, however the request was sent, and the request is not
// repeated.
func TestAPodThatNeverAnswers(t *testing.T) {
	f := within(t, Options{Answer: 200 * time.Millisecond}, 0, nil)
	var asked atomic.Int64
	f.serve(podOf(t, "a", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked.Add(1)
		<-r.Context().Done()
	}))
	for n, request := range []string{plainGet, "HEAD / HTTP/1.1\r\nHost: shop.org\r\n\r\n",
		"GET /%61 HTTP/1.1\r\nHost: shop.org\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 1\r\n\r\nx"} {
		_, reader := f.dial(request)
		method, _, _ := strings.Cut(request, " ")
		if response, _ := f.read(reader, method); response.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("%.10q: %s", request, response.Status)
		}
		if got := asked.Load(); got != int64(n+1) {
			t.Errorf("%.10q: the pod was asked %d times", request, got-int64(n))
		}
	}
}

// TestPlacesAtAListener: clients beyond the limit wait, and idle connections make room.
func TestPlacesAtAListener(t *testing.T) {
	f := within(t, Options{}, 2, nil)
	inside, leave := make(chan struct{}), make(chan struct{})
	f.serve(podOf(t, "p", func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			inside <- struct{}{}
			<-leave
		}
	}))
	for _, idles := range []string{plainGet, "POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 1\r\n\r\nx"} {
		for n := range 3 { // each takes the place of an idle connection; a single client may hold one of the two
			_, reader := f.dialFrom(fmt.Sprintf("127.0.0.%d", n+1), idles)
			if response, _ := f.read(reader, "GET"); response.StatusCode != 200 {
				t.Fatal(response.Status)
			}
		}
	}
	for n := range 2 { // two clients, since one may only hold half of the places
		f.dialFrom(fmt.Sprintf("127.0.0.%d", n+1), strings.Replace(plainGet, "/", "/slow", 1))
		<-inside
	}
	third, reader := f.dialFrom("127.0.0.3", plainGet)
	if err := third.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.ReadByte(); !isTimeout(err) {
		t.Errorf("a third connection is served: %v", err)
	}
	_ = third.SetReadDeadline(time.Time{})
	leave <- struct{}{}
	if response, _ := f.read(bufio.NewReader(third), "GET"); response.StatusCode != 200 {
		t.Error(response.Status)
	}
	leave <- struct{}{}
}

// TestWaitingIsBoundedByIngress: the waiting requests of one ingress don't keep those of another from waiting.
func TestWaitingIsBoundedByIngress(t *testing.T) {
	p := New(Options{Hold: 20 * time.Second})
	other := shop
	other.Name = "other"
	routes := []Route{{Ingress: shop, Host: "shop.org"}, {Ingress: other, Host: "other.org"}}
	p.Update(routes)
	p.metrics.of("prod/shop").held.Store(maxHeldEach)
	if got := ask(p, t.Context()); got.Code != http.StatusServiceUnavailable {
		t.Errorf("beyond the bound: %d", got.Code)
	}
	answer := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://other.org/", nil))
		answer <- w.Code
	}()
	for p.metrics.of("prod/other").held.Load() == 0 {
		p.Update(routes)
	}
	routes[1].Pods = []Pod{podOf(t, "p", says("hello"))}
	p.Update(routes)
	if got := <-answer; got != 200 {
		t.Errorf("the other ingress's: %d", got)
	}
}

// TestAPanicEndsOneConnection, and leaves nothing behind.
func TestAPanicEndsOneConnection(t *testing.T) {
	var fault atomic.Bool
	f := newFrontWith(t, Options{Now: func() time.Time {
		if fault.CompareAndSwap(true, false) {
			panic("a fault")
		}
		return time.Now()
	}})
	f.serve(podOf(t, "p", says("hello")))
	fault.Store(true)
	_, reader := f.dial(plainGet)
	if _, err := reader.ReadByte(); err != io.EOF {
		t.Errorf("%v", err)
	}
	_, reader = f.dial(plainGet)
	f.read(reader, "GET")
	if err := f.Drained(t.Context(), "p"); err != nil {
		t.Error(err)
	}
}
