package ingress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"

	"tend.dev/tend/api"
)

// gate is a proxy with one port, as clients see it.
type gate struct {
	*testing.T
	*Proxy
	ports   *Ports
	at      api.Listen
	changed chan struct{}
	log     bytes.Buffer
}

// newGate listens at a free port of loopback.
func newGate(t *testing.T, protocol string, opts Options, listen ListenOptions, edit ...func(*Ports)) *gate {
	t.Helper()
	g := &gate{T: t, at: api.Listen{IP: netip.MustParseAddr("127.0.0.1"), Protocol: protocol},
		changed: make(chan struct{}, 64)}
	opts.Access = slog.New(slog.NewJSONHandler(&g.log, nil))
	g.Proxy = New(opts)
	listen.Changed = func() { g.changed <- struct{}{} }
	g.ports = NewPorts(g.Proxy, listen)
	for _, change := range edit {
		change(g.ports)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.ports.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	g.ports.Want(map[api.Listen]bool{g.at: true})
	return g
}

// until waits for a state of the port, and returns it.
func (g *gate) until(what string, holds func(ListenerState) bool) ListenerState {
	g.Helper()
	limit := time.After(20 * time.Second)
	for {
		state := g.ports.States()[g.at.String()]
		if holds(state) {
			return state
		}
		select {
		case <-g.changed:
		case <-limit:
			g.Fatalf("in vain: %s: %+v", what, state)
		}
	}
}

func (g *gate) serve(pods ...Pod) { g.route(Route{Pods: pods}) }

func (g *gate) route(r Route) {
	r.Ingress, r.Listen = shop, g.at
	g.Update([]Route{r})
}

// dial opens a connection, or a flow of datagrams, to the port.
func (g *gate) dial() net.Conn {
	g.Helper()
	address := g.until("it opens", isOpen).Address
	conn, err := net.Dial(g.at.Protocol, address)
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// ask sends a line over a new connection, and returns the answer.
func (g *gate) ask(line string) string {
	g.Helper()
	answer, err := askOver(g.dial(), line)
	if err != nil {
		g.Fatal(err)
	}
	return answer
}

func askOver(conn net.Conn, line string) (string, error) {
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

// lines starts a pod that answers each line with its name and the line.
func linesPod(t *testing.T, name string) Pod {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					_, _ = fmt.Fprintf(conn, "%s got %s\n", name, lines.Text())
				}
			}()
		}
	}()
	return Pod{Name: name, Address: listener.Addr().String()}
}

// datagramsPod starts a pod that answers each datagram with its name and the datagram.
func datagramsPod(t *testing.T, name string) Pod {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo(fmt.Appendf(nil, "%s got %s", name, buffer[:n]), from)
		}
	}()
	return Pod{Name: name, Address: socket.LocalAddr().String()}
}

// TestAPortLeadsToPods: connections are spread over this node's pods; those of others get them only once there is none,
// through their node.
func TestAPortLeadsToPods(t *testing.T) {
	for protocol, pod := range map[string]func(*testing.T, string) Pod{"tcp": linesPod, "udp": datagramsPod} {
		t.Run(protocol, func(t *testing.T) {
			there := newFar(t, pod(t, "far"))
			g := newGate(t, protocol, Options{Relayed: there.relayed}, ListenOptions{})
			far := there.pod("far")
			if protocol == "udp" {
				far.Via.Protocol = protocol
			}
			a, b := pod(t, "a"), pod(t, "b")
			g.serve(a, b, far)
			var got []string
			for range 4 {
				got = append(got, strings.TrimSpace(g.ask("x")))
			}
			slices.Sort(got)
			if want := []string{"a got x", "a got x", "b got x", "b got x"}; !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			g.serve(far)
			if got := strings.TrimSpace(g.ask("x")); got != "far got x" || there.opened.Load() != 1 {
				t.Errorf("%q over %d connections", got, there.opened.Load())
			}
		})
	}
}

// TestBothDirectionsEndByThemselves: a client that has sent everything still gets the whole answer.
func TestBothDirectionsEndByThemselves(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		text, _ := io.ReadAll(conn)
		_, _ = conn.Write(bytes.ToUpper(text))
	}()
	g := newGate(t, "tcp", Options{}, ListenOptions{})
	g.serve(Pod{Name: "p", Address: listener.Addr().String()})
	conn := g.dial()
	long := strings.Repeat("x", 4<<20)
	go func() {
		_, _ = io.WriteString(conn, long)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	if got, err := io.ReadAll(conn); err != nil || string(got) != strings.ToUpper(long) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestAConnectionWaitsForAPod: a connection that no pod accepts now isn't refused, as long as a request would wait.
func TestAConnectionWaitsForAPod(t *testing.T) {
	for name, first := range map[string]Route{
		"none is ready":     {},
		"the one is gone":   {Pods: []Pod{deadPod(t, "gone")}},
		"it is paused":      {Mode: ModePaused, Pods: []Pod{deadPod(t, "gone")}},
		"one of two is off": {Pods: []Pod{deadPod(t, "gone"), deadPod(t, "gone too")}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, "tcp", Options{Hold: 20 * time.Second}, ListenOptions{})
			g.route(first)
			conn := g.dial()
			if _, err := io.WriteString(conn, "x\n"); err != nil {
				t.Fatal(err)
			}
			g.serve(linesPod(t, "p"))
			if got, err := bufio.NewReader(conn).ReadString('\n'); got != "p got x\n" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestAPortThatIsNotServed: the client's connection ends, at once where waiting helps nothing.
func TestAPortThatIsNotServed(t *testing.T) {
	for name, route := range map[string]Route{
		"maintenance": {Mode: ModeMaintenance, Pods: []Pod{linesPod(t, "p")}}, "no pod": {},
		"no pod listens": {Pods: []Pod{deadPod(t, "gone")}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, "tcp", Options{Hold: -1}, ListenOptions{})
			g.route(route)
			if got, err := askOver(g.dial(), "x"); err == nil {
				t.Errorf("%q was answered", got)
			}
		})
	}
}

// TestAPortIsDrained: an open connection stays with a removed pod, which waits for it; the next one goes to another
// pod.
func TestAPortIsDrained(t *testing.T) {
	for protocol, pod := range map[string]func(*testing.T, string) Pod{"tcp": linesPod, "udp": datagramsPod} {
		t.Run(protocol, func(t *testing.T) {
			g := newGate(t, protocol, Options{}, ListenOptions{})
			old, next := pod(t, "old"), pod(t, "next")
			g.serve(old)
			conn := g.dial()
			if got, err := askOver(conn, "x"); strings.TrimSpace(got) != "old got x" {
				t.Fatalf("%q, %v", got, err)
			}
			g.serve(next)
			over, cancel := context.WithCancel(t.Context())
			cancel()
			if err := g.Drained(over, "old"); !errors.Is(err, context.Canceled) {
				t.Errorf("nobody waits for the connection: %v", err)
			}
			if protocol == "tcp" {
				if got, err := askOver(conn, "y"); got != "old got y\n" {
					t.Errorf("%q, %v", got, err)
				}
				_ = conn.Close()
			}
			if err := g.Drained(t.Context(), "old"); err != nil {
				t.Error(err)
			}
			if protocol == "udp" { // a UDP client has no connection
				if got, err := askOver(conn, "y"); strings.TrimSpace(got) != "next got y" {
					t.Errorf("%q, %v", got, err)
				}
			}
			if got := strings.TrimSpace(g.ask("z")); got != "next got z" {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestPodsLearnWhereItComesFrom: with the PROXY protocol a pod reads the client's address, before anything of its own.
func TestPodsLearnWhereItComesFrom(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	says := func(from *bufio.Reader) string {
		header, err := proxyproto.Read(from)
		if err != nil {
			return err.Error() + "\n"
		}
		line, _ := from.ReadString('\n')
		return fmt.Sprintf("%s to %s: %s", header.SourceAddr, header.DestinationAddr, line)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, says(bufio.NewReader(conn)))
			_ = conn.Close()
		}
	}()
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo([]byte(says(bufio.NewReader(bytes.NewReader(buffer[:n])))), from)
		}
	}()
	for protocol, pod := range map[string]string{"tcp": listener.Addr().String(), "udp": socket.LocalAddr().String()} {
		t.Run(protocol, func(t *testing.T) {
			g := newGate(t, protocol, Options{}, ListenOptions{})
			g.route(Route{Announce: true, Pods: []Pod{{Name: "p", Address: pod}}})
			conn := g.dial()
			asks := 1
			if protocol == "udp" {
				asks = 2 // each datagram names the client's address
			}
			for range asks {
				want := fmt.Sprintf("%s to %s: hello\n", conn.LocalAddr(), conn.RemoteAddr())
				if got, err := askOver(conn, "hello"); got != want {
					t.Errorf("%q, %v; want %q", got, err, want)
				}
			}
		})
	}
}

// TestAnswersComeFromWhereTheyWereAsked: an answer comes from the address that the client used, of which a machine has
// several: the client ignores all others.
func TestAnswersComeFromWhereTheyWereAsked(t *testing.T) {
	g := newGate(t, "udp", Options{}, ListenOptions{})
	free := g.until("it opens", isOpen).Address
	_, port, _ := net.SplitHostPort(free)
	all, err := api.ParseListen(port + "/udp")
	if err != nil {
		t.Fatal(err)
	}
	g.ports.Want(map[api.Listen]bool{all: true})
	g.at = all
	g.serve(datagramsPod(t, "p"))
	g.until("it opens at every address", isOpen)
	for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
		conn, err := net.Dial("udp", net.JoinHostPort(host, port))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		if got, err := askOver(conn, "x"); got != "p got x\n" {
			t.Errorf("asked at %s: %q, %v", host, got, err)
		}
	}
}

// TestAPortThatIsTaken: it says by whom, and opens once it is free.
func TestAPortThatIsTaken(t *testing.T) {
	g := newGate(t, "tcp", Options{}, ListenOptions{})
	address := g.until("it opens", isOpen).Address
	g.serve(linesPod(t, "p"))
	second := newGate(t, "tcp", Options{}, ListenOptions{})
	at := netip.MustParseAddrPort(address)
	second.at = api.Listen{IP: at.Addr(), Port: int(at.Port()), Protocol: "tcp"}
	second.ports.Want(map[api.Listen]bool{second.at: true})
	taken := second.until("it is taken", func(s ListenerState) bool { return s.Error != "" })
	if !strings.Contains(taken.Error, "in use") {
		t.Errorf("%q", taken.Error)
	}
	open := g.dial()
	g.ports.Want(nil)
	second.until("it opens", isOpen)
	if got, err := askOver(open, "x"); got != "p got x\n" {
		t.Errorf("a connection ends with its port: %q, %v", got, err)
	}
}

// TestOneClientLeavesRoom: the flows of one address are half of a port's at most.
func TestOneClientLeavesRoom(t *testing.T) {
	g := newGate(t, "udp", Options{}, ListenOptions{Connections: 4})
	g.serve(datagramsPod(t, "p"))
	for i := range 4 {
		conn, has := g.dial(), i < 2
		if !has {
			_ = conn.SetDeadline(time.Now().Add(300 * time.Millisecond))
		}
		if got, _ := askOver(conn, "x"); (got == "p got x\n") != has {
			t.Errorf("flow %d of one client: %q", i, got)
		}
	}
}

// TestASilentClientIsForgotten: its session ends, and its next datagram begins another.
func TestASilentClientIsForgotten(t *testing.T) {
	g := newGate(t, "udp", Options{}, ListenOptions{}, func(p *Ports) { p.idle = 50 * time.Millisecond })
	g.serve(datagramsPod(t, "p"))
	conn := g.dial()
	for range 2 {
		if got, err := askOver(conn, "x"); got != "p got x\n" {
			t.Fatalf("%q, %v", got, err)
		}
		if err := g.Drained(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
	}
}
