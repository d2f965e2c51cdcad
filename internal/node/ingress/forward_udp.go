package ingress

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/relay"
	"tend.dev/tend/internal/platform/connlimit"
	"tend.dev/tend/internal/platform/recovery"
)

// How long a client of a UDP port keeps its pod without a datagram in either direction; and how long the pod may still
// answer after the table has dropped it.
const (
	udpIdle = 2 * time.Minute
	udpLeft = time.Second
)

// receivePause is the pause after a failed receive.
const receivePause = 200 * time.Millisecond

// maxQueued bounds the datagrams of a client that wait for its pod; further ones are lost, as on any link that is full.
const maxQueued = 64

// udpPort is an open port for datagrams. Each client has a session with one pod.
type udpPort struct {
	*Ports
	at      api.Listen
	sockets []packets
	cancel  context.CancelFunc
	running recovery.Group

	mu       sync.Mutex
	sessions map[flow]*session
	held     map[netip.Prefix]int // sessions of each client's address
	warned   time.Time
}

// openUDP opens a port for datagrams.
func (p *Ports) openUDP(ctx context.Context, at api.Listen) (opened, string, error) {
	sockets, err := listenPackets(at)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	u := &udpPort{Ports: p, at: at, sockets: sockets, cancel: cancel, sessions: map[flow]*session{},
		held: map[netip.Prefix]int{}}
	for _, socket := range sockets {
		u.running.Go(func() { u.receive(ctx, socket) })
	}
	return u, sockets[0].LocalAddr().String(), nil
}

func (u *udpPort) shut() {
	u.cancel()
	for _, socket := range u.sockets {
		_ = socket.Close()
	}
	u.running.Wait()
}

// receive passes the datagrams of a socket to the sessions of their clients, until the socket is closed.
func (u *udpPort) receive(ctx context.Context, socket packets) {
	buffer := make([]byte, relay.MaxPacket)
	for {
		n, from, err := socket.read(buffer)
		switch {
		case err == nil:
			u.take(ctx, socket, from, buffer[:n])
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		default:
			u.opts.Logger.Warn("a datagram could not be received; retrying", "address", u.at.String(), "error", err)
			select {
			case <-time.After(receivePause):
			case <-ctx.Done():
			}
		}
	}
}

// take queues a datagram for its client's session, and begins a session if there is none. If the queue is full the
// datagram is lost.
func (u *udpPort) take(ctx context.Context, socket packets, from flow, datagram []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	known := u.sessions[from]
	if known == nil {
		network := connlimit.Network(from.client.Addr())
		if u.held[network] >= u.opts.Connections-len(u.sessions) { // half of the port at most, as connections have
			u.warnLocked(network)
			return
		}
		known = &session{port: u, socket: socket, flow: from, network: network, queue: make(chan []byte, maxQueued),
			began: time.Now()}
		u.sessions[from] = known
		u.held[network]++
		u.running.Go(func() { known.run(ctx) })
	}
	select {
	case known.queue <- bytes.Clone(datagram):
	default:
	}
}

// warnLocked logs, at most once a minute, that clients of an address have used their share.
func (u *udpPort) warnLocked(network netip.Prefix) {
	if now := u.proxy.opts.Now(); now.Sub(u.warned) >= time.Minute {
		u.warned = now
		u.opts.Logger.Warn("an address has its share of the listener's connections: its next ones are closed",
			"client", network.String(), "name", "ingress "+u.at.String())
	}
}

// session is one client of a port, and its pod.
type session struct {
	port    *udpPort
	socket  packets
	flow    flow
	network netip.Prefix
	queue   chan []byte
	gone    bool // guarded by the port's mu: the next datagram of the client begins another session
	began   time.Time
	used    atomic.Int64 // the time of the last datagram after began: it doesn't follow a clock that is set
}

// run passes datagrams on until the client is silent, the pod has left the table, or doesn't answer.
func (s *session) run(ctx context.Context) {
	defer s.leave()
	p := s.port.proxy
	led := &led{proxy: p, at: s.port.at, client: s.flow.client.Addr().Unmap().String(), began: p.opts.Now()}
	defer led.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	to, err := led.connect(ctx)
	if err != nil {
		led.failure = err
		return
	}
	if led.pod.Via != (relay.Target{}) {
		to = relay.Packets(to)
	}
	var answers recovery.Group
	defer answers.Wait()
	defer to.Close()
	s.touch()
	var sent atomic.Int64
	defer func() { led.sent = sent.Load() }()
	answers.Go(func() {
		defer cancel()
		buffer := make([]byte, relay.MaxPacket)
		for {
			n, err := to.Read(buffer)
			if err != nil {
				if ctx.Err() == nil { // nothing listens at the pod's port
					led.backend.failed(led.pod, p.opts.Now())
				}
				return
			}
			s.touch()
			sent.Add(int64(n))
			_ = s.socket.write(buffer[:n], s.flow) // a lost datagram, as on any other link
		}
	})
	led.failure = s.pass(ctx, led, to)
}

// pass sends the client's datagrams to the pod.
func (s *session) pass(ctx context.Context, led *led, to net.Conn) error {
	var announced []byte
	if led.backend.Announce {
		own := &net.UDPAddr{IP: s.flow.at.AsSlice(), Port: s.socket.LocalAddr().(*net.UDPAddr).Port}
		announced, _ = header(net.UDPAddrFromAddrPort(s.flow.client), own).Format()
	}
	lasts, leaving := s.port.idle, false
	timer := time.NewTimer(lasts)
	defer timer.Stop()
	leave := func() { // the queued datagrams are still passed on
		s.leave()
		lasts, leaving = udpLeft, true
		timer.Reset(lasts)
	}
	routing := led.proxy.routing.Load()
	for {
		if !leaving && !routing.leads(led.at, led.pod) {
			leave()
		}
		select {
		case datagram := <-s.queue:
			s.touch()
			led.received += int64(len(datagram))
			if _, err := to.Write(slices.Concat(announced, datagram)); err != nil {
				led.backend.failed(led.pod, led.proxy.opts.Now())
				return err
			}
		case <-routing.over:
			routing = led.proxy.routing.Load()
		case <-timer.C:
			left := lasts - (time.Since(s.began) - time.Duration(s.used.Load()))
			switch {
			case left > 0:
				timer.Reset(left)
			case leaving:
				return nil
			default:
				leave()
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *session) touch() { s.used.Store(int64(time.Since(s.began))) }

// leave ends the session: the client's next datagram begins another one.
func (s *session) leave() {
	u := s.port
	u.mu.Lock()
	defer u.mu.Unlock()
	if s.gone {
		return
	}
	s.gone = true
	delete(u.sessions, s.flow)
	if u.held[s.network]--; u.held[s.network] == 0 {
		delete(u.held, s.network)
	}
}

// leads reports whether the traffic of a port may go to a pod.
func (v *routing) leads(at api.Listen, to *pod) bool {
	b := v.at(at)
	return b != nil && slices.Contains(b.pods, to)
}
