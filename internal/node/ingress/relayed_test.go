package ingress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/relay"
)

// across is another node with pods, and a proxy here that reaches them through its relay.
type across struct {
	*front
	*far
}

// far is another node.
type far struct {
	address string
	relayed Relayed           // with the certificate of this node
	pods    map[string]string // by task; not written to once the relay is used
	opened  atomic.Int64      // connections to pods
}

func newAcross(t *testing.T, pods ...Pod) across {
	t.Helper()
	there := newFar(t, pods...)
	return across{newFrontWith(t, Options{Hold: 5 * time.Second, Relayed: there.relayed}), there}
}

func newFar(t testing.TB, pods ...Pod) *far {
	t.Helper()
	ca, err := authority.Found("test", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	own := func(node string) authority.Own {
		pair, err := ca.Client(authority.Machine{Node: node}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return authority.Own{Certificate: func() (*tls.Certificate, error) { return &pair, nil }, Roots: ca.PEM}
	}
	a := &far{pods: map[string]string{}}
	for _, pod := range pods {
		a.pods[pod.Name] = pod.Address
	}
	there := relay.New(relay.Options{
		Own: own("there"), May: func(authority.Machine, string, int, string) error { return nil },
		Endpoint: func(task string, _ int, _ string) (string, error) {
			if address, runs := a.pods[task]; runs {
				a.opened.Add(1)
				return address, nil
			}
			return "", errors.New("it does not run here")
		},
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- there.Run(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	here := own("here")
	a.relayed = func(ctx context.Context, conn net.Conn, to relay.Target) (*tls.Conn, error) {
		return relay.Open(ctx, here, conn, to)
	}
	return a
}

// pod is a present or former pod of the other node.
func (a *far) pod(name string) Pod {
	return Pod{Name: name, Address: a.address, Via: relay.Target{Node: "there", Task: name, Port: 80}}
}

// TestPodsOfOtherNodes: requests and answers of every form are the same through the relay of a pod's node; connections
// are kept.
func TestPodsOfOtherNodes(t *testing.T) {
	a := newAcross(t, podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			conn, both, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = both.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_ = both.Flush()
			line, _ := both.ReadString('\n')
			_, _ = both.WriteString("echo " + line)
			_ = both.Flush()
			return
		}
		w.Header().Set("Trailer", "Grpc-Status")
		text, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %d", r.Proto, r.Method, len(text))
		w.Header().Set("Grpc-Status", "0")
	}))
	a.serve(a.pod("p"))
	long := strings.Repeat("x", 3<<20)
	for range 10 {
		if response, text := a.do("POST", "/", strings.NewReader(long)); text != fmt.Sprint("HTTP/1.1 POST ", len(long)) {
			t.Fatalf("%d %q", response.StatusCode, text)
		}
	}
	if n := a.opened.Load(); n != 1 {
		t.Errorf("%d connections for ten requests, one after the other", n)
	}

	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), "POST", a.url+"/", strings.NewReader("ping"))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "shop.org"
	request.Header.Set("Content-Type", "application/grpc")
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if string(text) != "HTTP/2.0 POST 4" || response.Trailer.Get("Grpc-Status") != "0" {
		t.Errorf("gRPC: %q, %v", text, response.Trailer)
	}

	at, _ := url.Parse(a.url)
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /ws HTTP/1.1\r\nHost: shop.org\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	reader := bufio.NewReader(conn)
	if upgraded, err := http.ReadResponse(reader, nil); err != nil ||
		upgraded.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", upgraded, err)
	}
	fmt.Fprint(conn, "hello\n")
	if line, err := reader.ReadString('\n'); line != "echo hello\n" {
		t.Errorf("%q %v", line, err)
	}
}

// TestAPodThatItsNodeDoesNotLeadTo: no part of a request was sent to the pod, so it goes to another one, whatever its
// method.
func TestAPodThatItsNodeDoesNotLeadTo(t *testing.T) {
	a := newAcross(t, podOf(t, "p", says("p")))
	a.serve(a.pod("gone"), a.pod("p"))
	for range 20 {
		if response, text := a.do("POST", "/", strings.NewReader("once")); response.StatusCode != http.StatusOK ||
			text != "p" {
			t.Fatalf("%d %q", response.StatusCode, text)
		}
	}
	a.serve(a.pod("gone"))
	if response, text := a.do("GET", "/", nil); response.StatusCode != http.StatusBadGateway &&
		response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d %q", response.StatusCode, text)
	}
}

// TestAWayThatIsCut: where the connection to a pod of another node ended without an answer, as at a restart of its
// agent, a request that may be sent twice is sent once more; any other is not, nor is one to a pod of this node.
func TestAWayThatIsCut(t *testing.T) {
	for name, test := range map[string]struct {
		method string
		cuts   int64
		here   bool
		status int
		asked  int64
	}{
		"a GET":           {"GET", 1, false, http.StatusOK, 2},
		"a DELETE":        {"DELETE", 1, false, http.StatusOK, 2},
		"cut twice":       {"GET", 2, false, http.StatusBadGateway, 2},
		"a POST":          {"POST", 1, false, http.StatusBadGateway, 1},
		"a GET, pod here": {"GET", 1, true, http.StatusBadGateway, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			here := podOf(t, "p", func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) > test.cuts {
					_, _ = io.WriteString(w, "late")
				} else if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
					_ = conn.Close()
				}
			})
			a := newAcross(t, here)
			if test.here {
				a.serve(here)
			} else {
				a.serve(a.pod("p"))
			}
			var body io.Reader
			if test.method == "POST" {
				body = strings.NewReader("once")
			}
			response, text := a.do(test.method, "/", body)
			if response.StatusCode != test.status || asked.Load() != test.asked {
				t.Errorf("%d %q, asked %d times; want %d, %d", response.StatusCode, text, asked.Load(), test.status, test.asked)
			}
		})
	}
}

// TestThreeWaysThatAreCut: a request that three pods got is sent to one more.
func TestThreeWaysThatAreCut(t *testing.T) {
	var asked atomic.Int64
	cuts := func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
	}
	a := newAcross(t, podOf(t, "p1", cuts), podOf(t, "p2", cuts), podOf(t, "p3", cuts))
	a.serve(a.pod("p1"), a.pod("p2"), a.pod("p3"))
	if response, _ := a.do("GET", "/", nil); response.StatusCode != http.StatusBadGateway || asked.Load() != maxTries+1 {
		t.Errorf("%d, asked %d times", response.StatusCode, asked.Load())
	}
}

// TestAnAgentThatIsAway: a request waits as long for the agent of the pod's node as for a pod, whatever its method. A
// pod of this node that refuses connections is given up earlier.
func TestAnAgentThatIsAway(t *testing.T) {
	early := &net.OpError{Op: "dial", Err: &relay.RefusedError{Early: true}}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, test := range map[string]struct {
		via     relay.Target
		failure error
		want    time.Duration
	}{
		"its port is closed":      {relay.Target{Node: "n2"}, refused, 10 * time.Second},
		"it doesn't know its pod": {relay.Target{Node: "n2"}, early, 10 * time.Second},
		"the machine is away": {relay.Target{Node: "n2"}, &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH},
			2 * time.Second},
		"a pod here": {relay.Target{}, refused, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				open := func(context.Context, net.Conn, relay.Target) (*tls.Conn, error) { return nil, nil }
				p := New(Options{Hold: 10 * time.Second, Relayed: open})
				pod := Pod{Name: "p", Address: "127.0.0.1:1", Via: test.via}
				p.Update([]Route{{Host: "shop.org", Path: "/", Pods: []Pod{pod}}})
				for _, b := range p.routing.Load().backends {
					for _, each := range b.pods {
						each.lines.plain.DialContext = func(context.Context, string, string) (net.Conn, error) {
							return nil, test.failure
						}
					}
				}
				began := time.Now()
				request := httptest.NewRequest("POST", "http://shop.org/", strings.NewReader("once"))
				answer := httptest.NewRecorder()
				p.ServeHTTP(answer, request)
				took := time.Since(began)
				if answer.Code != http.StatusBadGateway || took > test.want || took < test.want-time.Second {
					t.Errorf("%d after %s, want it after %s", answer.Code, took, test.want)
				}
			})
		})
	}
}

// TestTheRelayLearnsWhatIsHTTP: the relay gets a mark for HTTP, but none for connections of ports, to which nothing may
// be added.
func TestTheRelayLearnsWhatIsHTTP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var asked relay.Target
	refused := errors.New("refused")
	p := &pods{relayed: func(_ context.Context, conn net.Conn, to relay.Target) (*tls.Conn, error) {
		asked = to
		_ = conn.Close()
		return nil, refused
	}}
	served := Pod{Name: "p", Address: listener.Addr().String(), Via: relay.Target{Node: "there", Task: "p", Port: 80}}
	wanted, _ := p.update([]Route{{Pods: []Pod{served}}})
	want := served.Via
	if _, err := p.dial(t.Context(), "tcp", served); !errors.Is(err, refused) || asked != want {
		t.Errorf("a port: %+v, %v", asked, err)
	}
	want.HTTP = true
	_, err = wanted[served].lines.plain.DialContext(t.Context(), "tcp", served.Address)
	if !errors.Is(err, refused) || asked != want {
		t.Errorf("a request: %+v, %v", asked, err)
	}
}
