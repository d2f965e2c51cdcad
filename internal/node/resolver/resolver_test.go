package resolver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"tend.dev/tend/api/node"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = netip.MustParseAddr("127.0.0.1")

// world is a control plane, a machine's own name server, and a clock.
type world struct {
	mu    sync.Mutex
	known map[string][]string
	away  bool
	asked int
	now   time.Time
	asks  func() // what happens meanwhile
}

func (w *world) ask(_ context.Context, name string) (node.Names, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if w.asks != nil {
		w.asks()
	}
	if w.away {
		return node.Names{}, errors.New("away")
	}
	texts, known := w.known[strings.TrimSuffix(name, ".")]
	out := node.Names{Known: known}
	for _, text := range texts {
		out.Addresses = append(out.Addresses, netip.MustParseAddr(text))
	}
	return out, nil
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// upstream is a name server that knows every name but db.prod and absent.org; it returns its port.
func upstream(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	server := &dns.Server{PacketConn: conn, NotifyStartedFunc: func() { close(started) },
		Handler: dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
			answer := new(dns.Msg).SetReply(query)
			if name := query.Question[0].Name; name == "db.prod." || name == "absent.org." {
				answer.Rcode = dns.RcodeNameError
			} else {
				answer.Answer = records(query.Question[0], []netip.Addr{netip.MustParseAddr("203.0.113.1")})
			}
			_ = w.WriteMsg(answer)
		})}
	var running sync.WaitGroup
	running.Go(func() { _ = server.ActivateAndServe() })
	<-started
	t.Cleanup(func() { _ = server.Shutdown(); running.Wait() })
	_, port, _ := net.SplitHostPort(conn.LocalAddr().String())
	return port
}

// free returns a port that is free for UDP and TCP at both addresses that tests listen at: connections of other tests
// have many.
func free(t *testing.T) int {
	t.Helper()
	for {
		conn, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port, taken := conn.LocalAddr().(*net.UDPAddr).Port, false
		_ = conn.Close()
		for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
			stream, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
			if taken = taken || err != nil; err == nil {
				_ = stream.Close()
			}
		}
		if !taken {
			return port
		}
	}
}

func newResolver(t *testing.T, w *world, servers string) *Resolver {
	t.Helper()
	r := openResolver(t, w, servers)
	t.Cleanup(r.Close)
	return r
}

// openResolver returns a resolver that the test closes.
func openResolver(t *testing.T, w *world, servers string) *Resolver {
	t.Helper()
	config := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(config, []byte(servers), 0o644); err != nil {
		t.Fatal(err)
	}
	r := New(Options{Ask: w.ask, Now: w.clock, Config: config, Port: free(t)})
	if err := r.Listen(loopback); err != nil {
		t.Fatal(err)
	}
	return r
}

// query returns the addresses, sorted, or the code of the answer.
func query(t *testing.T, r *Resolver, protocol, name string, sort uint16) string {
	t.Helper()
	client := &dns.Client{Net: protocol}
	answer, _, err := client.Exchange(new(dns.Msg).SetQuestion(name, sort), r.address())
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if answer.Rcode != dns.RcodeSuccess {
		return dns.RcodeToString[answer.Rcode]
	}
	var out []string
	for _, record := range answer.Answer {
		switch record := record.(type) {
		case *dns.A:
			out = append(out, record.A.String())
		case *dns.AAAA:
			out = append(out, record.AAAA.String())
		}
	}
	slices.Sort(out)
	if answer.Truncated {
		out = append(out, "truncated")
	}
	return strings.Join(out, " ")
}

func TestAnswers(t *testing.T) {
	w := &world{now: time.Unix(0, 0),
		known: map[string][]string{"web.prod": {"10.80.0.2", "10.80.4.2"}, "web.prod.tend": {"10.80.0.2"}, "api.prod": nil}}
	r := newResolver(t, w, "")
	for _, protocol := range []string{"udp", "tcp"} {
		for _, test := range []struct {
			name string
			sort uint16
			want string
		}{
			{"web.prod.", dns.TypeA, "10.80.0.2 10.80.4.2"}, {"WEB.prod.", dns.TypeA, "10.80.0.2 10.80.4.2"},
			{"web.prod.tend.", dns.TypeA, "10.80.0.2"},
			{"web.prod.", dns.TypeAAAA, ""}, {"api.prod.", dns.TypeA, ""}, {"nobody.prod.tend.", dns.TypeA, "NXDOMAIN"},
			{"tend.", dns.TypeA, "SERVFAIL"},
			{"nobody.prod.", dns.TypeA, "SERVFAIL"}, // there is no name server to ask
		} {
			if got := query(t, r, protocol, test.name, test.sort); got != test.want {
				t.Errorf("%s %s: %q, want %q", protocol, test.name, got, test.want)
			}
		}
	}
}

// TestForward: names that are none of a workload are the machine's own name servers' to answer; one that doesn't answer
// is followed by the next.
func TestForward(t *testing.T) {
	port := upstream(t)
	w := &world{now: time.Unix(0, 0), known: map[string][]string{"web.prod": {"10.80.0.2"}}}
	r := newResolver(t, w, "nameserver 127.0.0.9\nnameserver 127.0.0.1\n")
	r.Upstream = port
	if err := r.Listen(netip.MustParseAddr("127.0.0.2")); err != nil { // the name server of the test is at 127.0.0.1
		t.Fatal(err)
	}
	for name, want := range map[string]string{"example.org.": "203.0.113.1", "a.b.c.": "203.0.113.1",
		"host.": "203.0.113.1", "web.prod.": "10.80.0.2"} {
		if got := query(t, r, "udp", name, dns.TypeA); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestKept: an answer is kept for a second, and for as long as the control plane is away.
func TestKept(t *testing.T) {
	w := &world{now: time.Unix(0, 0), known: map[string][]string{"web.prod": {"10.80.0.2"}}}
	r := newResolver(t, w, "")
	want := func(reason, addresses string, asked int) {
		t.Helper()
		if got := query(t, r, "udp", "web.prod.", dns.TypeA); got != addresses {
			t.Errorf("%s: %q, want %q", reason, got, addresses)
		}
		w.set(func() {
			if w.asked != asked {
				t.Errorf("%s: asked %d times, want %d", reason, w.asked, asked)
			}
		})
	}
	want("at first", "10.80.0.2", 1)
	w.set(func() { w.known["web.prod"] = []string{"10.80.4.2"} })
	want("within a second", "10.80.0.2", 1)
	w.set(func() { w.now = w.now.Add(fresh) })
	want("after a second", "10.80.4.2", 2)
	w.set(func() { w.now, w.away = w.now.Add(time.Hour), true })
	want("while the control plane is away", "10.80.4.2", 3)
	w.set(func() { w.now, w.away = w.now.Add(fresh), false; delete(w.known, "web.prod") })
	want("after the workload was deleted", "SERVFAIL", 4)
}

// TestManyAddresses: an answer that a packet doesn't hold is cut, and whole over TCP.
func TestManyAddresses(t *testing.T) {
	w := &world{now: time.Unix(0, 0), known: map[string][]string{}}
	for i := range 100 {
		w.known["web.prod"] = append(w.known["web.prod"], fmt.Sprintf("10.80.0.%d", i+2))
	}
	r := newResolver(t, w, "")
	if got := query(t, r, "udp", "web.prod.", dns.TypeA); !strings.HasSuffix(got, "truncated") {
		t.Errorf("%q", got)
	}
	if got := query(t, r, "tcp", "web.prod.", dns.TypeA); len(strings.Fields(got)) != 100 {
		t.Errorf("%q", got)
	}
}

func TestListenElsewhere(t *testing.T) {
	w := &world{now: time.Unix(0, 0), known: map[string][]string{"web.prod": {"10.80.0.2"}}}
	r := newResolver(t, w, "")
	if err := errors.Join(r.Listen(loopback), r.Listen(netip.MustParseAddr("127.0.0.2"))); err != nil {
		t.Fatal(err)
	}
	if got := query(t, r, "udp", "web.prod.", dns.TypeA); got != "10.80.0.2" ||
		!strings.HasPrefix(r.address(), "127.0.0.2:") {
		t.Errorf("%q at %s", got, r.address())
	}
	other := New(Options{Ask: w.ask, Port: r.Port})
	if err := other.Listen(netip.MustParseAddr("127.0.0.2")); err == nil ||
		!strings.Contains(err.Error(), "stop the program that listens there") {
		t.Errorf("a port that is taken: %v", err)
	}
}

// address returns the UDP address of the resolver.
func (r *Resolver) address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.servers[0].PacketConn.LocalAddr().String()
}
