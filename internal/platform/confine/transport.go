package confine

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"tend.dev/tend/internal/core/source"
)

// ErrRefused is the error of a call that would reach this machine, its link or networks of its own. Callers add the
// next step.
var ErrRefused = errors.New("is on the caller's own machine, link or networks, which only what is trusted may reach")

// Advised adds the next step to an ErrRefused whose address comes from an object.
func Advised(err error) error {
	if errors.Is(err, ErrRefused) {
		return fmt.Errorf("%w: name another machine, or have an admin apply it, or set it (tend config)", err)
	}
	return err
}

// transport sends requests directly or, if the environment sets one, through a proxy.
type transport struct {
	direct, proxied *http.Transport
	proxy           func(*http.Request) (*url.URL, error)
	here            machine
}

// Transport returns a transport like from that refuses to reach this machine, its link and networks of its own.
func Transport(from *http.Transport) http.RoundTripper { return newTransport(from, here) }

// newTransport returns a transport for a machine, whose addresses and routes may change.
func newTransport(from *http.Transport, on machine) *transport {
	direct := from.Clone()
	t := &transport{direct: direct, proxied: from.Clone(), proxy: from.Proxy, here: on}
	direct.Proxy, direct.DialTLSContext = nil, nil
	dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: t.control}
	direct.DialContext = dialer.DialContext
	return t
}

// control refuses a connection before it is made.
func (t *transport) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s %w", address, ErrRefused)
	}
	return t.check(at.Addr())
}

// Check returns an error for an address of this machine, its link or networks of its own.
func Check(address netip.Addr) error { return check(address, here) }

// check returns an error for an address that may not be reached.
func (t *transport) check(address netip.Addr) error { return check(address, t.here) }

func check(address netip.Addr, by machine) error {
	known, err := by()
	if err != nil {
		return err
	}
	if !source.Reachable(address, known) {
		return fmt.Errorf("%s %w", address, ErrRefused)
	}
	return nil
}

// RoundTrip implements http.RoundTripper. A proxy resolves names itself, so only addresses in the URL can be checked
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
	case local(host):
		err = fmt.Errorf("%s %w", host, ErrRefused)
	case parsed == nil:
		err = t.check(address)
	}
	if err == nil {
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
