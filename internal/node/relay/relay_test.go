package relay_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
	"tend.dev/tend/internal/node/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is an authority whose nodes ask each other.
type cluster struct {
	*testing.T
	ca *authority.Authority
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	ca, err := authority.Found("test", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return cluster{t, ca}
}

// own returns what a machine shows and trusts.
func (c cluster) own(machine authority.Machine) authority.Own {
	c.Helper()
	key, request, err := authority.NewRequest()
	if err != nil {
		c.Fatal(err)
	}
	text, err := c.ca.Node(machine, request)
	if err != nil {
		c.Fatal(err)
	}
	pair, err := nodeapitest.Pair(text, key)
	if err != nil {
		c.Fatal(err)
	}
	return authority.Own{Certificate: func() (*tls.Certificate, error) { return &pair, nil }, Roots: c.ca.PEM}
}

var (
	here  = authority.Machine{Node: "here", UID: "u1"}
	there = authority.Machine{Node: "there", UID: "u2"}
)

// far is the node of the pods: two of them, each of which answers with its name.
type far struct {
	*relay.Relay
	address string
	mu      sync.Mutex
	pods    map[string]string // address by task
	may     map[authority.Machine]error
}

func (c cluster) far() *far {
	c.Helper()
	f := &far{pods: map[string]string{}, may: map[authority.Machine]error{here: nil}}
	for _, task := range []string{"web", "bank"} {
		f.pods[task] = c.pod(task)
	}
	f.Relay = relay.New(relay.Options{Own: c.own(there), May: f.judge, Endpoint: f.endpoint})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.Fatal(err)
	}
	f.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx, listener) }()
	c.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			c.Error("the relay ended:", err)
		}
	})
	return f
}

func (f *far) judge(machine authority.Machine, _ string, _ int, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if why, known := f.may[machine]; known {
		return why
	}
	return errors.New("not known here")
}

func (f *far) set(machine authority.Machine, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.may[machine] = why
}

func (f *far) endpoint(task string, port int, protocol string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if address, runs := f.pods[task]; runs && port == 8080 && protocol == "tcp" || protocol == "udp" && port == 53 {
		return address, nil
	}
	return "", fmt.Errorf("no ingress leads to port %d of %s", port, task)
}

// pod listens, and answers each line with its name and the line.
func (c cluster) pod(name string) string {
	c.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				text, err := io.ReadAll(conn) // until the caller has sent everything
				if err == nil {
					_, _ = fmt.Fprintf(conn, "%s got %s", name, text)
				}
			})
		}
	})
	c.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}

func (c cluster) dial(address string) net.Conn {
	c.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = conn.Close() })
	return conn
}

func target(task string, port int) relay.Target {
	return relay.Target{Node: there.Node, UID: there.UID, Task: task, Port: port}
}

// TestTheNamedPodAnswers: whatever is sent arrives at the pod that was named, both directions end by themselves, and
// the end of the one doesn't cut the other.
func TestTheNamedPodAnswers(t *testing.T) {
	c := newCluster(t)
	f := c.far()
	for _, task := range []string{"web", "bank", "web"} {
		conn, err := relay.Open(t.Context(), c.own(here), c.dial(f.address), target(task, 8080))
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("x", 1<<20)
		if _, err := io.WriteString(conn, long); err != nil {
			t.Fatal(err)
		}
		if err := conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if want := task + " got " + long; err != nil || string(answer) != want {
			t.Errorf("%s: %d bytes, %v; want %d", task, len(answer), err, len(want))
		}
	}
}

// TestWhoIsRefused: an unknown caller, a node that isn't the one meant, and a missing pod: an error each, and no pod
// hears of it.
func TestWhoIsRefused(t *testing.T) {
	c, other := newCluster(t), newCluster(t)
	f := c.far()
	f.set(authority.Machine{Node: "plain", UID: "u3"}, errors.New("node plain serves no ingresses"))
	server := c.own(here)
	own, err := c.ca.Server(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	server.Certificate = func() (*tls.Certificate, error) { return &own, nil }
	none := c.own(here)
	none.Certificate = func() (*tls.Certificate, error) { return &tls.Certificate{}, nil }
	late := c.own(here)
	late.Now = func() time.Time { return time.Now().Add(authority.NodeLife + 48*time.Hour) }
	foreign := other.own(here)
	trusting := foreign
	trusting.Roots = c.ca.PEM
	for name, test := range map[string]struct {
		own  authority.Own
		to   relay.Target
		want string
	}{
		"a node that may ask": {c.own(here), target("web", 8080), ""},
		"whether it may":      {c.own(here), target("", 0), ""},
		"another port":        {c.own(here), target("web", 22), "no ingress leads to port 22 of web"},
		"another protocol": {c.own(here),
			relay.Target{Node: "there", UID: "u2", Task: "web", Port: 8080, Protocol: "sctp"}, "a relay carries tcp and udp"},
		"UDP where TCP is served": {c.own(here),
			relay.Target{Node: "there", UID: "u2", Task: "web", Port: 8080, Protocol: "udp"},
			"no ingress leads to port 8080 of web"},
		"a task that isn't there": {c.own(here), target("gone", 8080), "of gone"},
		"a node that serves no ingresses": {c.own(authority.Machine{Node: "plain", UID: "u3"}), target("web", 8080),
			"serves no ingresses"},
		"a node that serves none, whether it may": {c.own(authority.Machine{Node: "plain", UID: "u3"}), target("", 0),
			"serves no ingresses"},
		"the name on another machine": {c.own(authority.Machine{Node: here.Node, UID: "u9"}),
			target("web", 8080), "not known here"},
		"a node that was never there": {c.own(authority.Machine{Node: "ghost"}),
			target("web", 8080), "not known here"},
		"a node of another cluster":        {foreign, target("web", 8080), "unknown authority"},
		"one that says it trusts this one": {trusting, target("web", 8080), "bad certificate"},
		"a server's certificate":           {server, target("web", 8080), "bad certificate"},
		"no certificate":                   {none, target("web", 8080), "tls"},
		"a certificate that has ended":     {late, target("web", 8080), "expired"},
		"another node was meant": {c.own(here),
			relay.Target{Node: "third", UID: "u2", Task: "web", Port: 8080}, "answers there, and is not node third"},
		"another machine was meant": {c.own(here),
			relay.Target{Node: there.Node, UID: "u8", Task: "web", Port: 8080}, "and is not node there (machine u8)"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := relay.Open(t.Context(), test.own, c.dial(f.address), test.to)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%v, want %q", err, test.want)
			}
			if err == nil {
				_ = conn.Close()
			}
		})
	}
}

// TestDatagrams: each arrives whole and alone, in both directions, and the session ends with its caller.
func TestDatagrams(t *testing.T) {
	c := newCluster(t)
	f := c.far()
	pod, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer pod.Close()
	f.mu.Lock()
	f.pods["dns"] = pod.LocalAddr().String()
	f.mu.Unlock()
	go func() {
		buffer := make([]byte, relay.MaxPacket)
		for {
			n, from, err := pod.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = pod.WriteTo(append([]byte("got "), buffer[:n]...), from)
		}
	}()
	to := target("dns", 53)
	to.Protocol = "udp"
	conn, err := relay.Open(t.Context(), c.own(here), c.dial(f.address), to)
	if err != nil {
		t.Fatal(err)
	}
	datagrams := relay.Packets(conn)
	buffer := make([]byte, 65535)
	for _, text := range []string{"one", "", strings.Repeat("x", 30_000), "two"} {
		if _, err := datagrams.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if n, err := datagrams.Read(buffer); err != nil || string(buffer[:n]) != "got "+text {
			t.Fatalf("%d bytes, %v; want those of %d", n, err, len(text))
		}
	}
	if _, err := datagrams.Write([]byte("longer than the buffer")); err != nil {
		t.Fatal(err)
	}
	if n, err := datagrams.Read(buffer[:7]); err != nil || string(buffer[:n]) != "got lon" {
		t.Errorf("%q, %v", buffer[:n], err)
	}
	if _, err := datagrams.Write([]byte("next")); err != nil {
		t.Fatal(err)
	}
	if n, err := datagrams.Read(buffer); err != nil || string(buffer[:n]) != "got next" {
		t.Errorf("%q, %v: what was left of the last one", buffer[:n], err)
	}
	if n, err := datagrams.Write(make([]byte, relay.MaxPacket+1)); err == nil {
		t.Errorf("%d bytes were sent as one datagram", n)
	}
	_ = datagrams.Close()
	if err := f.Drained(t.Context(), "dns"); err != nil {
		t.Error(err)
	}
}

// TestARelayThatLies: what pretends to be a relay gets nothing of a request, and no caller waits for it without end.
func TestARelayThatLies(t *testing.T) {
	c := newCluster(t)
	config := c.own(there).Between(relay.Protocol, func(authority.Machine) error { return nil })
	other := c.own(there).Between("another/1", func(authority.Machine) error { return nil })
	for name, test := range map[string]struct {
		answer func(conn net.Conn)
		want   string
	}{
		"speaks no TLS":  {func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n") }, "tls"},
		"closes at once": {func(conn net.Conn) { _ = conn.Close() }, "node there"},
		"speaks another": {func(conn net.Conn) { _ = tls.Server(conn, other).HandshakeContext(t.Context()) },
			"protocol"},
		"a head without end": {func(conn net.Conn) { _, _ = tls.Server(conn, config).Write([]byte{255, 255, '{'}) },
			"a head of 65535 bytes"},
		"a malformed head": {func(conn net.Conn) { _, _ = tls.Server(conn, config).Write([]byte{0, 2, 'x', 'x'}) },
			"invalid character"},
		"a long reason":        {func(conn net.Conn) { _, _ = tls.Server(conn, config).Write(append([]byte{0, 13}, `{"error":"x"}`...)) }, "doesn't lead to task web: x"},
		"cuts amid its answer": {func(conn net.Conn) { s := tls.Server(conn, config); _, _ = s.Write([]byte{0, 9}); _ = s.Close() }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				test.answer(conn)
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}()
			_, err = relay.Open(t.Context(), c.own(here), c.dial(listener.Addr().String()), target("web", 8080))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			_ = listener.Close()
			<-done
		})
	}
}

// TestAMachineThatMayNotAskAnyMore: its connections end.
func TestAMachineThatMayNotAskAnyMore(t *testing.T) {
	c := newCluster(t)
	f := c.far()
	conn, err := relay.Open(t.Context(), c.own(here), c.dial(f.address), target("web", 8080))
	if err != nil {
		t.Fatal(err)
	}
	f.Recheck()
	if _, err := io.WriteString(conn, "still here"); err != nil {
		t.Error("it may still ask:", err)
	}
	f.set(here, errors.New("removed"))
	f.Recheck()
	if answer, _ := io.ReadAll(conn); len(answer) > 0 {
		t.Errorf("%q", answer)
	}
}

// TestDrained: it waits for the connections to a task, and for no others.
func TestDrained(t *testing.T) {
	c := newCluster(t)
	f := c.far()
	open := func(task string) *tls.Conn {
		conn, err := relay.Open(t.Context(), c.own(here), c.dial(f.address), target(task, 8080))
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	first, second, bank := open("web"), open("web"), open("bank")
	defer bank.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Drained(ctx, "web"); !errors.Is(err, context.Canceled) {
		t.Error("two connections lead to it:", err)
	}
	drained := make(chan error, 1)
	go func() { drained <- f.Drained(t.Context(), "web") }()
	_ = first.Close()
	_ = second.Close()
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if err := f.Drained(ctx, "never"); err != nil {
		t.Error("none ever led to it:", err)
	}
}
