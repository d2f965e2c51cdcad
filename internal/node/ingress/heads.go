package ingress

import (
	"net/netip"
	"strconv"
	"strings"
)

// dotted reports whether a path has a segment of one dot or two: a server that resolves them gets another path. Some
// servers treat a backslash as a slash, and ignore what follows a semicolon in a segment.
func dotted(path string) bool {
	for at := 0; ; at++ {
		next := strings.IndexByte(path[at:], '.')
		if next < 0 {
			return false
		}
		if at += next; at == 0 || path[at-1] != '/' && path[at-1] != '\\' {
			continue
		}
		rest := strings.TrimPrefix(path[at+1:], ".")
		if rest == "" || strings.IndexByte(`/\;`, rest[0]) >= 0 {
			return true
		}
	}
}

// claimed are the header fields in which a proxy describes the original request: its client, and what the proxy
// changed. An entry that ends in a hyphen stands for all fields with that prefix. Proxy isn't such a field: CGI makes
// the variable HTTP_PROXY of it, which programs take for the proxy of their own requests.
var claimed = []string{
	"forwarded", "front-end-https", "proxy", "x-forwarded", "x-forwarded-", "x-original-", "x-real-ip", "x-rewrite-",
	"x-scheme", "x-url-scheme",
}

// addressed are the fields in which CDNs and other load balancers name the client. Applications believe them, so they
// pass from a trusted proxy alone, which replaces what the client says there.
var addressed = []string{
	"cf-connecting-ip", "cf-connecting-ipv6", "client-ip", "fastly-client-ip", "fly-client-ip", "true-client-ip",
	"x-client-ip", "x-cluster-client-ip",
}

// claims reports whether a field is one that a pod must not get from a client: one of claimed, and unless the client is
// a trusted proxy one of addressed. Nor may it get one whose name becomes the same variable of CGI, which turns each
// character into an underscore that is neither a letter nor a digit.
func claims(name string, trusted bool) bool {
	return oneOf(claimed, name) || !trusted && oneOf(addressed, name)
}

func oneOf(fields []string, name string) bool {
	for _, known := range fields {
		whole := len(name) == len(known) || len(name) > len(known) && strings.HasSuffix(known, "-")
		if whole && sameField(name[:len(known)], known) {
			return true
		}
	}
	return false
}

// validHost reports whether a Host header is a name or an address, with or without a port. Servers parse anything else
// differently: the table would read raw.test:abc as raw.test, and the pod perhaps not.
func validHost(host string) bool {
	if strings.HasPrefix(host, "[") {
		address, rest, closed := strings.Cut(host[1:], "]")
		ip, err := netip.ParseAddr(address)
		if !closed || err != nil || !ip.Is6() || ip.Zone() != "" || rest != "" && rest[0] != ':' {
			return false
		}
		return rest == "" || validPort(rest[1:])
	}
	name, port, hasPort := strings.Cut(host, ":")
	if hasPort && !validPort(port) {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._", r)
	}) < 0
}

// validPort reports whether a text is a port number, or empty for the default port.
func validPort(text string) bool {
	if text == "" {
		return true
	}
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// sameField compares a name with a lower-case name of the same length, as CGI does.
func sameField(name, lower string) bool {
	for i := range len(name) {
		c := name[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case (c < 'a' || c > 'z') && (c < '0' || c > '9'):
			c = '-'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
