package ingress

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"testing"
)

// TestOriginOfARequest: a trusted proxy's headers about the client count, the client's own don't.
func TestOriginOfARequest(t *testing.T) {
	p := New(Options{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}})
	const cdn = "10.0.0.1:4000"
	for name, c := range map[string]struct {
		from   string
		over   *tls.ConnectionState
		header http.Header
		want   origin
	}{
		"a client that claims another": {"192.0.2.9:5", nil, said("1.1.1.1", "https", "evil.org"),
			origin{"192.0.2.9", "shop.org", false}},
		"a proxy that says nothing": {cdn, nil, http.Header{}, origin{"10.0.0.1", "shop.org", false}},
		"a client of the proxy":     {cdn, nil, said("192.0.2.7", "https", ""), origin{"192.0.2.7", "shop.org", true}},
		"a client that claims another before the proxy": {
			cdn, nil, said("1.1.1.1, 192.0.2.7", "http, https", "evil.org,www.shop.org"),
			origin{"192.0.2.7", "www.shop.org", true},
		},
		"two proxies, two fields": {
			cdn, nil, http.Header{"X-Forwarded-For": {"1.1.1.1", "192.0.2.7,10.9.9.9"}}, origin{"192.0.2.7", "shop.org", false},
		},
		"trusted ones alone":         {cdn, nil, said("10.1.1.1,10.2.2.2", "", ""), origin{"10.1.1.1", "shop.org", false}},
		"a word instead of a client": {cdn, nil, said("192.0.2.7, unknown", "", ""), origin{"10.0.0.1", "shop.org", false}},
		"an address and its port":    {cdn, nil, said("192.0.2.7:8443", "", ""), origin{"192.0.2.7", "shop.org", false}},
		"an IPv6 address in brackets": {"[2001:db8::1%eth0]:5", nil, said("[2001:0DB9::0]:7", "", ""),
			origin{"2001:db9::", "shop.org", false}},
		"a mapped proxy": {"[::ffff:10.0.0.1]:5", nil, said("::ffff:192.0.2.7", "", ""),
			origin{"192.0.2.7", "shop.org", false}},
		"TLS to the proxy alone": {cdn, nil, said("192.0.2.7", "HTTPS", ""), origin{"192.0.2.7", "shop.org", true}},
		"TLS from the proxy alone": {cdn, &tls.ConnectionState{}, said("192.0.2.7", "http", ""),
			origin{"192.0.2.7", "shop.org", false}},
		"an unknown scheme": {cdn, &tls.ConnectionState{}, said("", "gopher", "a b"),
			origin{"10.0.0.1", "shop.org", true}},
		"nothing in the last place": {cdn, nil, said("192.0.2.7,", "https,", ""), origin{"10.0.0.1", "shop.org", false}},
	} {
		if got := p.originOf(&http.Request{RemoteAddr: c.from, TLS: c.over, Host: "shop.org",
			Header: c.header}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// said returns the headers that a proxy sets; it leaves out empty ones.
func said(client, scheme, host string) http.Header {
	header := http.Header{}
	for name, value := range map[string]string{"X-Forwarded-For": client, "X-Forwarded-Proto": scheme,
		"X-Forwarded-Host": host} {
		if value != "" {
			header.Set(name, value)
		}
	}
	return header
}

// TestRequestsThroughATrustedProxy: the pod gets the client's address and scheme, and a client that used HTTPS isn't
// redirected to it.
func TestRequestsThroughATrustedProxy(t *testing.T) {
	const request = "GET / HTTP/1.1\r\nHost: shop.org\r\nX-Forwarded-For: 1.1.1.1, 192.0.2.7\r\nX-Forwarded-Proto: https\r\nX-Real-Ip: 1.1.1.1\r\n\r\n"
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		status  int
		text    string
	}{
		"trusted": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, http.StatusOK, "[192.0.2.7] [192.0.2.7] [https]"},
		"another": {[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, http.StatusPermanentRedirect, ""},
		"none":    {nil, http.StatusPermanentRedirect, ""},
	} {
		f := newFrontWith(t, Options{Trusted: c.trusted})
		pod := podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.Header["X-Forwarded-For"], " ", r.Header["X-Real-Ip"], " ", r.Header["X-Forwarded-Proto"])
		})
		f.Update([]Route{{Ingress: shop, Host: "shop.org", Secure: true, Pods: []Pod{pod}}})
		_, reader := f.dial(request)
		if response, text := f.read(reader, "GET"); response.StatusCode != c.status ||
			c.status == http.StatusOK && text != c.text {
			t.Errorf("%s: %s %q, want %d %q", name, response.Status, text, c.status, c.text)
		}
	}
}
