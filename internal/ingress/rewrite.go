package ingress

import (
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
)

// rewrite is what the pod gets instead of the request: the same, with the addresses it came by.
func rewrite(r *httputil.ProxyRequest) {
	x := exchangeOf(r.In.Context())
	for name := range r.Out.Header {
		if claims(name) {
			delete(r.Out.Header, name)
		}
	}
	if strings.Contains(strings.ToLower(r.Out.Header.Get("Upgrade")), "h2c") {
		r.Out.Header.Del("Upgrade") // requests of that connection would pass by all routes, with whatever they say of their client
		r.Out.Header.Del("Connection")
	}
	r.Out.Header.Del("Http2-Settings")
	r.SetXForwarded()
	r.Out.Host = r.In.Host
	r.Out.URL.Scheme, r.Out.URL.Host = "http", x.backend.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery // httputil leaves out what not every reader parts in the same way; it is the pod's to read
	r.Out.Header.Set("X-Real-IP", x.client)
	if prefix := x.backend.Path; x.backend.Strip && prefix != "/" {
		strip(r.Out, prefix)
		r.Out.Header.Set("X-Forwarded-Prefix", prefix)
	}
}

// strip takes a prefix off a request's path, and off its escaped form where that differs.
func strip(r *http.Request, prefix string) {
	rooted := func(path string) string {
		if path = strings.TrimPrefix(path, prefix); path == "" || path[0] != '/' {
			path = "/" + path
		}
		return path
	}
	r.URL.Path = rooted(r.URL.Path)
	if r.URL.RawPath != "" {
		r.URL.RawPath = rooted(r.URL.RawPath)
	}
}

func clientAddress(r *http.Request) string {
	return addressOf(r.RemoteAddr)
}

// addressOf is an address without its port.
func addressOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
