package resolver

import (
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// TestCloseWhileAQueryIsForwarded: Close waits for the queries under way, which end meanwhile.
func TestCloseWhileAQueryIsForwarded(t *testing.T) {
	w, closed := &world{now: time.Unix(0, 0), away: true}, make(chan struct{})
	r := openResolver(t, w, "nameserver 127.0.0.9\n")
	w.set(func() {
		w.asks = func() { closeMeanwhile(r, closed) }
	})
	if got := query(t, r, "udp", "db.prod.", dns.TypeA); got != "SERVFAIL" {
		t.Error(got)
	}
	<-closed
}

// closeMeanwhile returns once Close has begun. closed is closed at its end.
func closeMeanwhile(r *Resolver, closed chan struct{}) {
	go func() {
		defer close(closed)
		r.Close()
	}()
	for r.mu.TryLock() {
		r.mu.Unlock()
		runtime.Gosched()
	}
}

// TestAServerThatEnds: one that can't start is reported, and the next Listen opens what has failed.
func TestAServerThatEnds(t *testing.T) {
	w := &world{now: time.Unix(0, 0), known: map[string][]string{"web.prod": {"10.80.0.2"}}}
	r := newResolver(t, w, "")
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := r.start(&dns.Server{PacketConn: conn}, &loopback); err == nil {
		t.Error("it was started at a closed socket")
	}
	r.sockets[1].Close()
	for r.at.Load() != nil {
		runtime.Gosched()
	}
	if err := r.Listen(loopback); err != nil {
		t.Fatal(err)
	}
	if got := query(t, r, "tcp", "web.prod.", dns.TypeA); got != "10.80.0.2" {
		t.Error(got)
	}
}
