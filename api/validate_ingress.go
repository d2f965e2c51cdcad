package api

import (
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// DefaultTLSProvider is the default of IngressTLS.Provider.
const DefaultTLSProvider = "letsencrypt"

// The values of IngressTLS.Provider and IngressLB.Policy; the first ones are the defaults.
var (
	tlsProviders = []string{DefaultTLSProvider, "internal"}
	lbPolicies   = []string{"round_robin", "random", "least_conn", "ip_hash"}
)

func (c *checker) ingress(s IngressSpec) {
	switch {
	case s.Listen != "":
		c.listens(s)
	case s.Host == "":
		c.add("host", "is required; an ingress that leads a port to its pods has listen instead")
	default:
		c.addError("host", CheckHost(s.Host))
	}
	if s.Listen == "" && s.ProxyProtocol {
		c.add("proxy_protocol", "belongs to listen: over HTTP a pod gets the client's address in X-Forwarded-For")
	}
	if s.Service != "" {
		c.name("service", s.Service)
	}
	c.between("port", s.Port, 0, 65535)
	if s.TLS != nil {
		c.tls(*s.TLS)
	}
	for i, scope := range s.SharedWith {
		c.name(index("shared_with", i), scope)
	}
	c.locations(s.Locations)
	if s.LB != nil {
		c.oneOf("lb.policy", s.LB.Policy, lbPolicies...)
		c.duration("lb.interval", s.LB.Interval, 100*time.Millisecond, time.Hour)
	}
}

// locations checks paths. Two that differ in slashes at their end alone are one route, which could not both strip its
// path and keep it.
func (c *checker) locations(locations []IngressLocation) {
	for i, location := range locations {
		field := index("locations", i) + ".path"
		c.addError(field, checkLocation(location.Path))
		same := func(l IngressLocation) bool { return l.Below() == location.Below() }
		switch first := slices.IndexFunc(locations[:i], same); {
		case first < 0:
		case locations[first].Path == location.Path:
			c.add(field, "%q is at locations[%d] already", location.Path, first)
		default:
			c.add(field, "%q is at locations[%d] already, as %q: a slash at the end makes no other route", location.Path, first,
				locations[first].Path)
		}
	}
}

// listens checks an ingress that leads a port of the nodes to its pods, and leaves what is sent there as it is.
func (c *checker) listens(s IngressSpec) {
	if _, err := ParseListen(s.Listen); err != nil {
		c.addError("listen", err)
	}
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"host", s.Host != ""}, {"tls", s.TLS != nil}, {"locations", len(s.Locations) > 0},
		{"shared_with", len(s.SharedWith) > 0},
	} {
		if field.given {
			c.add(field.name, "is not with listen: what comes in at a port goes to the pods as it is")
		}
	}
}

func (c *checker) tls(t IngressTLS) {
	c.oneOf("tls.provider", t.Provider, tlsProviders...)
	if t.Email != "" {
		if parsed, err := mail.ParseAddress(t.Email); err != nil || parsed.Address != t.Email {
			c.add("tls.email", "%q is not an address such as ops@example.org", t.Email)
		}
	}
	switch {
	case t.Key == "" && t.Certificate != "":
		c.add("tls.key", "is missing: name the config key of the certificate's private key")
	case t.Certificate == "" && t.Key != "":
		c.add("tls.certificate", "is missing: name the config key of the key's certificate")
	}
	for _, key := range []struct{ field, name string }{{"tls.certificate", t.Certificate}, {"tls.key", t.Key}} {
		if key.name != "" && !configKey().MatchString(key.name) {
			c.add(key.field, "%q is not a config key: use letters, digits and _, not beginning with a digit", key.name)
		}
	}
	if t.Certificate != "" && (t.Provider != "" || t.Email != "" || t.OnDemand) {
		c.add("tls.certificate", "excludes provider, email and on_demand: nothing is asked for")
	}
	switch ask, err := url.Parse(t.Ask); {
	case t.OnDemand && t.Ask == "":
		c.add("tls.ask", "is required with on_demand: without a check any client could make the host request certificates")
	case !t.OnDemand && t.Ask != "":
		c.add("tls.ask", "is asked with on_demand = true alone")
	case t.Ask != "" && (err != nil || ask.Host == "" || ask.Scheme != "http" && ask.Scheme != "https"):
		c.add("tls.ask", "%q does not begin with http:// or https://", t.Ask)
	}
}

// CheckHost checks a host name of an ingress: a DNS name in any case, with *. before it for every name one level below.
func CheckHost(host string) error {
	name := strings.TrimPrefix(strings.ToLower(host), "*.")
	if host == "" {
		return FieldError{Field: "host", Detail: "is required"}
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return fmt.Errorf("%q is an address, not a name", host)
	}
	if len(host) > 253 {
		return fmt.Errorf("is longer than 253 characters")
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > MaxNameBytes || !dnsLabel().MatchString(label) {
			return fmt.Errorf("%q is not a DNS name such as app.example.org or *.example.org", host)
		}
	}
	return nil
}

func checkLocation(path string) error {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \t\r\n?#") {
		return fmt.Errorf("%q does not begin with /, or holds a space, ? or #", path)
	}
	if strings.Contains(path, "%") {
		return fmt.Errorf("%q holds a %%, and what a request escapes is compared unescaped: write the characters themselves",
			path)
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return fmt.Errorf("%q has a segment of dots, and requests for such are refused", path)
		}
	}
	return nil
}

// Routes returns the routes that an ingress claims: its host with the path of each location, or "/" without locations.
func (s IngressSpec) Routes() []string {
	if s.Host == "" {
		return nil
	}
	host := strings.ToLower(s.Host)
	if len(s.Locations) == 0 {
		return []string{host + "/"}
	}
	var routes []string
	for _, location := range s.Locations {
		routes = append(routes, host+location.Below())
	}
	return routes
}
