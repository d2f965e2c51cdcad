package ingress

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// BenchmarkPassing measures the cost of one request: 32 clients that keep their connections, and a pod that does
// nothing. Clients and pod send fixed bytes, so that only the proxy is measured.
func BenchmarkPassing(b *testing.B) {
	proxy := New(Options{})
	proxy.Update([]Route{{Ingress: shop, Host: "shop.org", Pods: []Pod{parrot(b)}}})
	l, until := listeners(b, ListenOptions{HTTP: "127.0.0.1:0", Handler: proxy, Connections: 256})
	l.Want(true, false)
	address := until("it opens", isOpen).Address
	b.SetParallelism(max(32/runtime.GOMAXPROCS(0), 1))
	b.ReportAllocs()
	b.RunParallel(func(next *testing.PB) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		for reader := bufio.NewReader(conn); next.Next(); {
			if err := askInBytes(conn, reader); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkAcross compares a request to a pod through its node's relay with one to a pod at its own address, in one
// run: as a ratio of the two.
func BenchmarkAcross(b *testing.B) {
	near := parrot(b)
	there := newFar(b, near)
	var conns [2]net.Conn
	var readers [2]*bufio.Reader
	for i, pod := range []Pod{near, there.pod(near.Name)} {
		proxy := New(Options{Relayed: there.relayed})
		proxy.Update([]Route{{Ingress: shop, Host: "shop.org", Pods: []Pod{pod}}})
		l, until := listeners(b, ListenOptions{HTTP: "127.0.0.1:0", Handler: proxy, Connections: 256})
		l.Want(true, false)
		conn, err := net.Dial("tcp", until("it opens", isOpen).Address)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		conns[i], readers[i] = conn, bufio.NewReader(conn)
	}
	var took [2]time.Duration
	for b.Loop() {
		for i := range conns {
			began := time.Now()
			if err := askInBytes(conns[i], readers[i]); err != nil {
				b.Fatal(err)
			}
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "x-direct")
}

// BenchmarkPort compares an exchange through a port to a pod with one over a connection to the pod itself, in one run.
func BenchmarkPort(b *testing.B) {
	pod := parrot(b)
	at := api.Listen{IP: netip.MustParseAddr("127.0.0.1"), Protocol: "tcp"}
	proxy := New(Options{})
	proxy.Update([]Route{{Ingress: shop, Listen: at, Pods: []Pod{pod}}})
	opened := make(chan struct{}, 8)
	ports := NewPorts(proxy, ListenOptions{Changed: func() { opened <- struct{}{} }})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- ports.Run(ctx) }()
	defer func() { cancel(); <-done }()
	ports.Want(map[api.Listen]bool{at: true})
	<-opened
	var took [2]time.Duration
	var conns [2]net.Conn
	var readers [2]*bufio.Reader
	for i, address := range []string{pod.Address, ports.States()[at.String()].Address} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		conns[i], readers[i] = conn, bufio.NewReader(conn)
	}
	for b.Loop() {
		for i := range conns {
			began := time.Now()
			if err := askInBytes(conns[i], readers[i]); err != nil {
				b.Fatal(err)
			}
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "x-direct")
}

var (
	benchAsk    = []byte("GET /items?page=2 HTTP/1.1\r\nHost: shop.org\r\nUser-Agent: bench\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n\r\n")
	benchAnswer = []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Length: 13\r\n\r\nhello, world\n")
)

// askInBytes makes a request and reads its answer up to the known end of the body.
func askInBytes(conn net.Conn, reader *bufio.Reader) error {
	if _, err := conn.Write(benchAsk); err != nil {
		return err
	}
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == len("\r\n") {
			_, err = reader.Discard(len("hello, world\n"))
			return err
		}
	}
}

// parrot returns a pod that gives the same answer to every request without a body.
func parrot(t testing.TB) Pod {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				said := make([]byte, 4<<10)
				for n := 0; ; {
					more, err := conn.Read(said[n:])
					if err != nil {
						return
					}
					if n += more; bytes.HasSuffix(said[:n], []byte("\r\n\r\n")) {
						if _, err := conn.Write(benchAnswer); err != nil {
							return
						}
						n = 0
					}
				}
			}()
		}
	}()
	return Pod{Name: "parrot", Address: listener.Addr().String()}
}
