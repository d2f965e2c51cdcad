package ingress

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
)

var shop = api.Ref{Kind: api.KindIngress, Scope: "prod", Name: "shop"}

// front is a proxy that listens, as clients see it.
type front struct {
	*Proxy
	*testing.T
	url string
}

func newFront(t *testing.T) *front {
	t.Helper()
	return newFrontWith(t, Options{Hold: 5 * time.Second})
}

func newFrontWith(t *testing.T, opts Options) *front {
	t.Helper()
	proxy := New(opts)
	l, until := listeners(t, ListenOptions{HTTP: "127.0.0.1:0", Handler: proxy})
	l.Want(true, false)
	return &front{Proxy: proxy, T: t, url: "http://" + until("it opens", isOpen).Address}
}

// podOf starts a server that answers as a pod.
func podOf(t *testing.T, name string, handler http.HandlerFunc) Pod {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = protocols()
	server.Start()
	t.Cleanup(server.Close)
	return Pod{Name: name, Address: server.Listener.Addr().String()}
}

// deadPod returns a pod at an address without a listener.
func deadPod(t *testing.T, name string) Pod {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return Pod{Name: name, Address: listener.Addr().String()}
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, text)
	}
}

func (f *front) serve(pods ...Pod) { f.Update([]Route{{Ingress: shop, Host: "shop.org", Pods: pods}}) }

func (f *front) do(method, path string, body io.Reader, edit ...func(*http.Request)) (*http.Response, string) {
	f.Helper()
	request, err := http.NewRequestWithContext(f.Context(), method, f.url+path, body)
	if err != nil {
		f.Fatal(err)
	}
	request.Host = "shop.org"
	for _, change := range edit {
		change(request)
	}
	response, err := http.DefaultClient.Do(request)
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

func TestHeadersThatAPodGets(t *testing.T) {
	f := newFront(t)
	var got http.Header
	var path, host string
	p := podOf(t, "p", func(_ http.ResponseWriter, r *http.Request) { got, path, host = r.Header, r.RequestURI, r.Host })
	f.Update([]Route{{Ingress: shop, Host: "shop.org", Path: "/api", Strip: true, Pods: []Pod{p}}})
	f.do("GET", "/api/a%2Fb?q=1", nil, func(r *http.Request) {
		r.Header.Set("X-Forwarded-For", "6.6.6.6") // headers that a client forges
		r.Header.Set("X-Real-IP", "6.6.6.6")
		r.Header.Set("Forwarded", "for=6.6.6.6")
		r.Header["X_Forwarded_For"], r.Header["x-REAL_ip"] = []string{"6.6.6.6"}, []string{"6.6.6.6"}
	})
	for name, want := range map[string]string{
		"X-Forwarded-For": "127.0.0.1", "X-Real-Ip": "127.0.0.1", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "shop.org",
		"X-Forwarded-Prefix": "/api", "Forwarded": "", "X_forwarded_for": "", "X-Real_ip": "",
	} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
	if path != "/a%2Fb?q=1" || host != "shop.org" {
		t.Errorf("it was asked for %s at %s", path, host)
	}
}

// TestAQueryIsThePodsToRead: it arrives unchanged, even if servers parse it in different ways.
func TestAQueryIsThePodsToRead(t *testing.T) {
	f := newFront(t)
	var got string
	f.serve(podOf(t, "p", func(_ http.ResponseWriter, r *http.Request) { got = r.URL.RawQuery }))
	for _, query := range []string{"a=1;b=2&x=1", "q=100%&x=1", "b=2&a=1&q=%zz", "b=2&a=1", "", "a=;b&%zz", "x=1&x=2"} {
		if f.do("GET", "/open?"+query, nil); got != query {
			t.Errorf("?%s came as ?%s", query, got)
		}
	}
}

func TestRequestsWithoutAReadyPod(t *testing.T) {
	f := newFront(t)
	f.opts.Hold = -1
	f.serve()
	response, text := f.do("GET", "/", nil)
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" ||
		text != "503 no pod is ready\n" {
		t.Errorf("without pods: %d %q", response.StatusCode, text)
	}
	response, _ = f.do("GET", "/", nil, func(r *http.Request) { r.Host = "other.org" })
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("another host: %d", response.StatusCode)
	}
	f.serve(deadPod(t, "dead"))
	if response, _ = f.do("GET", "/", nil); response.StatusCode != http.StatusBadGateway {
		t.Errorf("a dead pod alone: %d", response.StatusCode)
	}
}

// TestADeadPodCostsNoRequest: a request that could not be sent is sent to another pod, with its body.
func TestADeadPodCostsNoRequest(t *testing.T) {
	f := newFront(t)
	f.serve(deadPod(t, "dead"), podOf(t, "live", says("hello")))
	for i := range 20 {
		method, body := "GET", io.Reader(nil)
		if i%2 == 1 {
			method, body = "POST", strings.NewReader(strings.Repeat("x", 1<<16))
		}
		if response, text := f.do(method, "/", body); response.StatusCode != 200 || text != "hello" {
			t.Fatalf("%s %d: %d %q", method, i, response.StatusCode, text)
		}
	}
}

// TestAPodThatIsAboutToListen: a request waits a moment for it, body and all.
func TestAPodThatIsAboutToListen(t *testing.T) {
	f := newFront(t)
	late := deadPod(t, "late")
	f.serve(late)
	answer := make(chan string)
	go func() {
		_, text := f.do("POST", "/", strings.NewReader("body"))
		answer <- text
	}()
	for f.pods.named("late")[0].failureCount() == 0 { // until it was tried in vain
		f.serve(late)
	}
	listener, err := net.Listen("tcp", late.Address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: says("hello")}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	if got := <-answer; got != "hello" {
		t.Errorf("%q", got)
	}
}

func (p *pod) failureCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures
}

// TestWhatMayBeDoneTwice: a GET to a dying pod is repeated; a POST is not.
func TestWhatMayBeDoneTwice(t *testing.T) {
	for method, want := range map[string]int{"GET": 200, "DELETE": 200, "POST": 502, "PATCH": 502} {
		f := newFront(t)
		var asked atomic.Int32
		hangUp := func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				conn.Close()
			}
		}
		f.Update([]Route{{Ingress: shop, Host: "shop.org", Pods: []Pod{podOf(t, "a", hangUp), podOf(t, "b", says("hello"))}}})
		response, _ := f.do(method, "/", nil)
		if response.StatusCode != want || asked.Load() != 1 {
			t.Errorf("%s: %d after %d tries, want %d", method, response.StatusCode, asked.Load(), want)
		}
	}
}
