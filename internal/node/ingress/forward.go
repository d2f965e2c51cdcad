package ingress

import (
	"context"
	"net"
	"time"

	"github.com/pires/go-proxyproto"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/relay"
	"tend.dev/tend/internal/platform/delay"
)

// forward passes a connection to a port on to a pod, and closes it at its end.
func (p *Proxy) forward(ctx context.Context, at api.Listen, client relay.Half) {
	defer client.Close()
	led := &led{proxy: p, at: at, client: clientOf(client), began: p.opts.Now()}
	defer led.end()
	to, err := led.connect(ctx)
	if err != nil {
		led.failure = err
		return
	}
	defer to.Close()
	if led.backend.Announce {
		_, led.failure = header(client.RemoteAddr(), client.LocalAddr()).WriteTo(to)
		if led.failure != nil {
			return
		}
	}
	stop := context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = to.Close()
	})
	defer stop()
	led.received, led.sent = relay.Join(bare(client), to.(relay.Half))
}

// bare returns the connection inside the one that counts for its listener: between two bare ones the kernel copies.
func bare(conn relay.Half) relay.Half {
	if counted, ok := conn.(interface{ NetConn() net.Conn }); ok {
		if below, ok := counted.NetConn().(*net.TCPConn); ok {
			return below
		}
	}
	return conn
}

// header returns the PROXY protocol's header, version 2, for a connection from one address to another.
func header(from, to net.Addr) *proxyproto.Header {
	return proxyproto.HeaderProxyFromAddrs(2, from, to)
}

// led is a connection to a port, or a UDP client's datagrams, on the way to a pod.
type led struct {
	proxy   *Proxy
	at      api.Listen
	client  string
	began   time.Time
	backend *backend // set once its ingress is known
	pod     *pod     // set once a pod accepted it
	// received and sent are the bytes from the client and to it.
	received, sent int64
	failure        error
}

// connect opens a connection to a pod. If the route is paused, or no pod is ready, it waits like a request does.
func (l *led) connect(ctx context.Context) (net.Conn, error) {
	p := l.proxy
	until, pause := p.opts.Now().Add(min(retryFor, max(p.opts.Hold, 0))), 20*time.Millisecond
	for {
		b := p.awaitPort(ctx, l.at)
		if b != l.backend {
			l.count(b)
		}
		if b == nil || b.Mode != ModeServe || len(b.pods) == 0 {
			return nil, errNoPod
		}
		to, err := l.try(ctx)
		if err == nil || ctx.Err() != nil || p.opts.Now().Add(pause).After(until) {
			return to, err
		}
		_ = delay.For(ctx, pause) // ctx also ends an attempt
		pause = min(2*pause, 200*time.Millisecond)
	}
}

// count counts the connection for a backend, in place of an earlier one.
func (l *led) count(b *backend) {
	if l.backend != nil {
		l.backend.series.active.Dec()
	}
	if l.backend = b; b != nil {
		b.series.active.Inc()
	}
}

// try asks one pod after another. The pod that accepts the connection counts it until end.
func (l *led) try(ctx context.Context) (net.Conn, error) {
	var tried []*pod
	var last error = errNoPod
	for range maxTries {
		next := l.backend.choose(l.client, tried, l.proxy.opts.Now())
		if next == nil {
			break
		}
		tried = append(tried, next)
		if !next.acquire() { // the table has just dropped it
			continue
		}
		to, err := l.proxy.pods.dial(ctx, l.at.Protocol, next.Pod)
		if err == nil {
			next.worked()
			l.pod = next
			return to, nil
		}
		next.release()
		if last = err; ctx.Err() != nil {
			break
		}
		l.backend.failed(next, l.proxy.opts.Now())
	}
	return nil, last
}

// end ends the count of the connection, and writes its line of the access log.
func (l *led) end() {
	took := l.proxy.opts.Now().Sub(l.began)
	if l.pod != nil {
		l.pod.release()
	}
	fields := []any{"client", l.client, "listen", l.at.String(), "received", l.received, "sent", l.sent,
		"took", took.Seconds()}
	if l.backend != nil {
		l.backend.series.active.Dec()
		l.backend.series.connected(l.failure)
		fields = append(fields, "ingress", l.backend.series.ingress)
	}
	if l.proxy.opts.Access == nil {
		return
	}
	if l.pod != nil {
		fields = append(fields, "pod", l.pod.Name)
	}
	if l.failure != nil {
		fields = append(fields, "error", l.failure.Error())
	}
	l.proxy.opts.Access.Info("connection", fields...)
}
