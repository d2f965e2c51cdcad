package ingress

import (
	"net/http"
	"net/http/httputil"
	"strings"
)

// rewrite makes the request for the pod: the client's, with the forwarding headers of its origin.
func rewrite(r *httputil.ProxyRequest) {
	x := exchangeOf(r.In.Context())
	trusted := x.proxy.isTrusted(r.In)
	for name := range r.Out.Header {
		if claims(name, trusted) {
			delete(r.Out.Header, name)
		}
	}
	if upgrade := r.Out.Header["Upgrade"]; len(upgrade) > 0 && strings.Contains(strings.ToLower(upgrade[0]), "h2c") {
		// requests on an upgraded connection would bypass all routes, with any claim about their client
		r.Out.Header.Del("Upgrade")
		r.Out.Header.Del("Connection")
	}
	r.Out.Header.Del("Http2-Settings")
	r.Out.Host = r.In.Host
	r.Out.URL.Scheme, r.Out.URL.Host = "http", x.backend.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery // httputil drops queries that servers parse differently; here the pod decides
	setForwarded(r.Out.Header, x.from)
	if prefix := x.backend.Path; x.backend.Strip && prefix != "/" {
		strip(r.Out, prefix)
		r.Out.Header.Set("X-Forwarded-Prefix", prefix)
	}
}

// setForwarded sets the fields of ProxyRequest.SetXForwarded and X-Real-Ip, with the values in one allocation.
func setForwarded(header http.Header, from origin) {
	proto := "http"
	if from.secure {
		proto = "https"
	}
	values := []string{from.client, from.host, proto, from.client}
	for i, name := range [...]string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"} {
		header[name] = values[i : i+1 : i+1]
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
