package confine

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"tend.dev/tend/internal/core/source"
)

// ErrRefused is the error of a call that would reach this machine or its link.
var ErrRefused = errors.New("is on the caller's own machine or link, which a source that is not trusted may not reach")

// transport sends requests itself or, as the environment says, through a proxy.
type transport struct {
	direct, proxied *http.Transport
	proxy           func(*http.Request) (*url.URL, error)
}

// Transport returns a transport like from that refuses to reach this machine and its link.
func Transport(from *http.Transport) http.RoundTripper {
	direct := from.Clone()
	direct.Proxy, direct.DialTLSContext = nil, nil
	dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: control}
	direct.DialContext = dialer.DialContext
	return &transport{direct: direct, proxied: from.Clone(), proxy: from.Proxy}
}

// control refuses a connection before it is made.
func control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err == nil && source.Reachable(at.Addr()) {
		return nil
	}
	return fmt.Errorf("%s %w", address, ErrRefused)
}

// RoundTrip implements http.RoundTripper. A proxy finds names itself, so only what is written as an address is checked
// then.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if t.proxy == nil {
		return t.direct.RoundTrip(request)
	}
	through, err := t.proxy(request)
	host := request.URL.Hostname()
	switch address, parsed := netip.ParseAddr(host); {
	case err != nil:
	case through == nil:
		return t.direct.RoundTrip(request)
	case parsed == nil && !source.Reachable(address), strings.EqualFold(host, "localhost"):
		err = fmt.Errorf("%s %w", host, ErrRefused)
	default:
		return t.proxied.RoundTrip(request)
	}
	if request.Body != nil {
		_ = request.Body.Close() // as a RoundTripper must
	}
	return nil, err
}

// CloseIdleConnections is called by http.Client's method of that name.
func (t *transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}
