package ingress

import (
	"cmp"
	"context"
	"net"
	"sync"
	"time"

	"github.com/pires/go-proxyproto"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/relay"
	"tend.dev/tend/internal/platform/connlimit"
	"tend.dev/tend/internal/platform/portowner"
	"tend.dev/tend/internal/platform/recovery"
)

// Bounds of one port. Each connection, and each client of a UDP port, needs a file for its pod.
const (
	maxPortConnections = 8 << 10
	partOfFiles        = 8
)

// Ports are the listeners of routes with Listen, whose traffic goes to the pods unchanged. Create them with NewPorts;
// they run once.
type Ports struct {
	opts  ListenOptions
	proxy *Proxy
	idle  time.Duration // udpIdle; shorter in tests
	wake  chan struct{}
	// open are the open connections: they outlive their port.
	open recovery.Group

	mu     sync.Mutex
	wanted map[api.Listen]bool
	known  map[api.Listen]*port
}

// port is one listener. It runs until it is cancelled.
type port struct {
	*kept
	cancel context.CancelFunc
	ended  chan struct{}
}

// NewPorts returns the ports of a proxy, none at first. It uses the options Balancers, Connections, Sockets, Changed
// and Logger.
func NewPorts(proxy *Proxy, opts ListenOptions) *Ports {
	opts.fill()
	opts.Connections = min(opts.Connections, connlimit.Within(connlimit.Files(), partOfFiles, maxPortConnections))
	return &Ports{opts: opts, proxy: proxy, idle: udpIdle, wake: make(chan struct{}, 1), known: map[api.Listen]*port{}}
}

// Want sets at which ports it listens.
func (p *Ports) Want(wanted map[api.Listen]bool) {
	p.mu.Lock()
	p.wanted = wanted
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// States returns the state of each port, by Listen.String.
func (p *Ports) States() map[string]ListenerState {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]ListenerState, len(p.wanted))
	for at := range p.wanted {
		out[at.String()] = ListenerState{Address: at.Address(), Wanted: true}
		if known := p.known[at]; known != nil {
			out[at.String()] = known.state()
		}
	}
	return out
}

// Run listens until ctx ends. Then it closes the connections: a proxy can't know which of them are idle.
func (p *Ports) Run(ctx context.Context) error {
	defer p.open.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		p.follow(ctx)
		select {
		case <-ctx.Done():
			p.Want(nil)
			p.follow(ctx)
			return nil
		case <-p.wake:
		}
	}
}

// follow closes the ports that aren't wanted any more, and then opens the new ones, which may have the same number on
// another address.
func (p *Ports) follow(ctx context.Context) {
	p.mu.Lock()
	var gone []*port
	for at, known := range p.known {
		if !p.wanted[at] {
			gone = append(gone, known)
			delete(p.known, at)
		}
	}
	p.mu.Unlock()
	for _, old := range gone {
		old.cancel()
		<-old.ended
		if ctx.Err() == nil && old.left != nil {
			old.left()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := range p.wanted {
		if p.known[at] == nil && ctx.Err() == nil {
			p.known[at] = p.start(ctx, at)
		}
	}
}

// start keeps one port open. Its connections last until ctx ends, also if the port closes.
func (p *Ports) start(ctx context.Context, at api.Listen) *port {
	open := p.openTCP
	if at.Protocol == api.ProtocolUDP {
		open = p.openUDP
	}
	own, cancel := context.WithCancel(ctx)
	made := &port{cancel: cancel, ended: make(chan struct{})}
	made.kept = newKept(at.Address(), p.opts,
		func(context.Context, string) (opened, string, error) { return open(ctx, at) })
	if at.Protocol != api.ProtocolUDP {
		made.left = func() { p.opts.Sockets.DropAddress(at.Address()) }
	}
	made.want(true)
	recovery.Go(func() {
		defer close(made.ended)
		made.run(own)
	})
	return made
}

// openTCP opens a port for connections.
func (p *Ports) openTCP(ctx context.Context, at api.Listen) (opened, string, error) {
	listener, err := p.listen(ctx, at.Address())
	if err != nil {
		return nil, "", portowner.Named(err)
	}
	address := listener.Addr().String()
	listener = connlimit.New(listener, connlimit.Options{
		Total: p.opts.Connections, Exempt: p.opts.isBalancer, Name: "ingress " + at.String(), Logger: p.opts.Logger,
	})
	if len(p.opts.Balancers) > 0 {
		listener = announcing{&proxyproto.Listener{Listener: listener, ConnPolicy: p.opts.policy,
			ReadHeaderTimeout: headTime}}
	}
	made := &tcpPort{listener: listener, done: make(chan struct{})}
	recovery.Go(func() {
		defer close(made.done)
		p.accept(ctx, listener, at)
	})
	return made, address, nil
}

// listen uses the kept socket of an address, or opens one and has it kept.
func (p *Ports) listen(ctx context.Context, address string) (net.Listener, error) {
	if socket := p.opts.Sockets.Find(address); socket != nil {
		return net.FileListener(socket)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err == nil {
		p.opts.Sockets.Keep(address, listener)
	}
	return listener, err
}

// tcpPort is an open port for connections.
type tcpPort struct {
	listener net.Listener
	done     chan struct{} // closed once no more connections are accepted
}

func (t *tcpPort) shut() {
	_ = t.listener.Close()
	<-t.done
}

// accept accepts connections until the listener is closed.
func (p *Ports) accept(ctx context.Context, listener net.Listener, at api.Listen) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // connlimit retries after any other error
		}
		p.open.Go(func() { p.proxy.forward(ctx, at, conn.(relay.Half)) })
	}
}

// clientOf returns the address of a client, without its port.
func clientOf(conn net.Conn) string {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return cmp.Or(conn.RemoteAddr().String(), "unknown")
	}
	return host
}
