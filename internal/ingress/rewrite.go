package ingress

import (
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
)

// rewrite sets the request that the pod gets: the same one, with the addresses it came by.
func rewrite(r *httputil.ProxyRequest) {
	x := exchangeOf(r.In.Context())
	for name := range r.Out.Header {
		if claims(name) {
			delete(r.Out.Header, name)
		}
	}
	if upgrade := r.Out.Header["Upgrade"]; len(upgrade) > 0 && strings.Contains(strings.ToLower(upgrade[0]), "h2c") {
		r.Out.Header.Del("Upgrade") // requests on an upgraded connection would bypass all routes, with any claim about their client
		r.Out.Header.Del("Connection")
	}
	r.Out.Header.Del("Http2-Settings")
	r.Out.Host = r.In.Host
	r.Out.URL.Scheme, r.Out.URL.Host = "http", x.backend.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery // httputil drops what servers parse differently; the pod is to parse it
	setForwarded(r, x.client)
	if prefix := x.backend.Path; x.backend.Strip && prefix != "/" {
		strip(r.Out, prefix)
		r.Out.Header.Set("X-Forwarded-Prefix", prefix)
	}
}

// setForwarded does what ProxyRequest.SetXForwarded does, and sets X-Real-Ip, with the values in one allocation.
func setForwarded(r *httputil.ProxyRequest, client string) {
	proto := "http"
	if r.In.TLS != nil {
		proto = "https"
	}
	values := []string{client, r.In.Host, proto, client}
	for i, name := range [...]string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"} {
		r.Out.Header[name] = values[i : i+1 : i+1]
	}
}

// strip removes a prefix from a request's path, and from its escaped form if that differs.
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

// addressOf returns an address without its port.
func addressOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
