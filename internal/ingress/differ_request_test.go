package ingress

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// requests begin FuzzRequestsMeanTheSame: each asks for something that two readers may understand in two ways.
var requests = []string{
	"GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n",
	"GET /api/a?b=%20&c HTTP/1.1\r\nHost: shop.org:80\r\nAccept: */*\r\nUser-Agent: a\r\nUser-Agent: b\r\n\r\n",
	"HEAD //a//b/?? HTTP/1.1\r\nhOST: SHOP.org.\r\nConnection: CLOSE\r\n\r\nGET /second HTTP/1.1\r\n\r\n",
	"GET /api HTTP/1.1\r\nHost: shop.org\r\nX-Forwarded-For: 6.6.6.6\r\nX_Forwarded_For: 6.6.6.6\r\nForwarded: for=x\r\nX-Real_IP: 6\r\n\r\n",
	"GET /api/../admin HTTP/1.1\r\nHost: shop.org\r\n\r\n",
	"GET /a\"<>^`{|} HTTP/1.1\r\nHost: shop.org\r\n\r\n",
	"GET /!$&'()*+,;=:@[] HTTP/1.1\r\nHost: shop.org\r\nCookie: a=b; c=d\r\nCookie: e\r\nPragma: no-cache\r\n\r\n",
	"GET /?a;b HTTP/1.1\r\nHost: shop.org\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 0\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: shop.org\r\nContent_Length: 5\r\nTransfer_Encoding: chunked\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: shop.org\r\nContent-Length : 5\r\n\r\nhello",
	"GET / HTTP/1.1\r\nHost: shop.org\r\nX: a\r\n b\r\n\r\n",
	"GET / HTTP/1.1\nHost: shop.org\n\n",
	"GET / HTTP/1.1\r\nHost: shop.org\r\nX: a\rb\x00\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: shop.org\r\nX: \xff\t \r\nEmpty:\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
	"GET http://other.org/ HTTP/1.1\r\nHost: shop.org\r\n\r\n",
}

// recorder is what stands for pods in place of a transport: it keeps what it was to send.
type recorder struct {
	mu  sync.Mutex
	got *http.Request
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	out := *request
	if out.Body == http.NoBody {
		out.Body = nil
	}
	var text bytes.Buffer
	if out.Body != nil {
		fmt.Fprintf(&text, "%s a body\r\n\r\n", out.Method)
	} else if err := out.Write(&text); err != nil {
		return nil, err
	}
	got, err := http.ReadRequest(bufio.NewReader(&text))
	r.mu.Lock()
	r.got = got
	r.mu.Unlock()
	return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}, Body: http.NoBody}, err
}

// handler is a door whose requests net/http reads, on connections in memory.
type handler struct {
	*recorder
	*handed
	proxy *Proxy
}

func newHandler(tb testing.TB) *handler {
	tb.Helper()
	h := &handler{&recorder{}, &handed{conns: make(chan net.Conn), over: make(chan struct{}), address: &net.TCPAddr{}}, New(Options{Hold: -1})}
	h.proxy.reverse.Transport = h.recorder
	pods := []Pod{{Name: "p", Address: "127.0.0.1:1"}}
	h.proxy.Update([]Route{
		{Ingress: shop, Host: "shop.org", Pods: pods}, {Ingress: shop, Host: "shop.org", Path: "/api", Strip: true, Pods: pods},
	})
	server := &http.Server{Handler: h.proxy, Protocols: protocols(), ReadHeaderTimeout: headTime}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(h.handed) }()
	tb.Cleanup(func() { server.Close(); <-done })
	return h
}

// ask gives the bytes of one request to net/http and returns its answer's status, and what a pod would get: nil is nothing.
func (h *handler) ask(text []byte) (int, *http.Request) {
	h.mu.Lock()
	h.got = nil
	h.mu.Unlock()
	ours, theirs := net.Pipe()
	defer ours.Close()
	h.give(from{theirs})
	go func() { _, _ = ours.Write(text) }()
	response, err := http.ReadResponse(bufio.NewReader(ours), nil)
	if err != nil {
		return 0, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return response.StatusCode, h.got
}

// from is a connection that has an address.
type from struct{ net.Conn }

func (from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 5000} }

// FuzzRequestsMeanTheSame: what is passed on without net/http is what net/http would make of the same bytes, to the last field.
// What isn't passed on that way is given to net/http as it is.
func FuzzRequestsMeanTheSame(f *testing.F) {
	for _, text := range requests {
		f.Add([]byte(text))
	}
	h := newHandler(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		c := newConversation(&plainSite{proxy: h.proxy}, from{})
		c.client = "192.0.2.7"
		if !c.request.Parse(text) {
			return
		}
		status, want := h.ask(text[:c.request.Size])
		picture := h.proxy.picture.Load()
		b := picture.backends[picture.table.Match(string(c.request.Host), string(c.request.Path))]
		if b == nil {
			if status != http.StatusNotFound {
				t.Fatalf("no route here, and net/http answers %d: %q", status, text)
			}
			return
		}
		sent := c.appendRequest(nil, b)
		reader := bufio.NewReader(bytes.NewReader(sent))
		got, err := http.ReadRequest(reader)
		if err != nil || reader.Buffered() > 0 {
			t.Fatalf("the pod gets no request: %v: %q from %q", err, sent, text)
		}
		if want == nil {
			t.Fatalf("net/http answers %d, and the pod gets %q from %q", status, sent, text)
		}
		if got, want := inWords(got), inWords(want); got != want {
			t.Fatalf("of %q the pod gets\n%s\nby net/http\n%s", text, got, want)
		}
	})
}

// inWords is all of a request that a pod can see. Of several User-Agent net/http passes on the first, and none that is empty.
func inWords(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	lines := []string{fmt.Sprintf("%s %s %s host=%s length=%d %q", r.Method, r.RequestURI, r.Proto, r.Host, r.ContentLength, body)}
	agent := r.Header.Get("User-Agent")
	r.Header.Del("User-Agent")
	for name, values := range r.Header {
		lines = append(lines, fmt.Sprintf("%s: %q", name, values))
	}
	slices.Sort(lines[1:])
	return strings.Join(append(lines, "agent="+agent), "\n")
}
