package hosts

import (
	"bytes"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"tend.dev/tend/api"
)

// Claim is a host that an ingress or a lab asks for.
type Claim struct {
	Ref api.Ref
	// Host is in lower case; *.example.org stands for every name one level below example.org.
	Host string
	// Since is the time of the object's first claim of the host.
	Since time.Time
	// TLS is the policy that the object declares; nil if it declares none.
	TLS        *api.IngressTLS
	SharedWith []string
	// Paths are those of its locations.
	Paths []string
}

// ClaimOf returns the claim of an object; false if it asks for no host.
func ClaimOf(object api.Object) (Claim, bool) {
	spec, routed := routeOf(object)
	claim := Claim{Ref: object.Ref(), Host: strings.ToLower(spec.Host), TLS: spec.TLS, SharedWith: spec.SharedWith}
	claim.Since = since(object, claim.Host)
	for _, location := range spec.Locations {
		claim.Paths = append(claim.Paths, location.Below())
	}
	return claim, routed && claim.Host != ""
}

// since returns when an object claimed its host. What an earlier version of Tend stored has no stamp, and one that
// changed the host of a later object has another one: then the last write counts.
func since(object api.Object, host string) time.Time {
	at, of, stamped := strings.Cut(object.Metadata.Stamps[api.StampHost], " ")
	if !stamped {
		return object.Metadata.CreatedAt
	}
	if claimed, err := time.Parse(time.RFC3339Nano, at); err == nil && of == host {
		return claimed
	}
	return object.Metadata.UpdatedAt
}

// Touches reports whether one of two claims may decide about the other: they ask for one host, or one is the wildcard
// above the other's.
func (c Claim) Touches(other Claim) bool {
	return c.Host == other.Host || above(c.Host) == other.Host || above(other.Host) == c.Host
}

// routeOf returns what an object serves requests by; validation reports a spec that can't be read.
func routeOf(object api.Object) (api.IngressSpec, bool) {
	switch {
	case object.Kind == api.KindIngress:
		spec, err := api.DecodeSpec[api.IngressSpec](object)
		return spec, err == nil
	case object.Kind == api.KindLab && bytes.Contains(object.Spec, []byte(`"host"`)): // most labs have none
		spec, err := api.DecodeSpec[api.LabSpec](object)
		if err != nil {
			return api.IngressSpec{}, false
		}
		return spec.Route()
	}
	return api.IngressSpec{}, false
}

// Routes returns the hosts with paths that an object claims for itself.
func Routes(object api.Object) []string {
	if spec, routed := routeOf(object); routed {
		return spec.Routes()
	}
	return nil
}

// Broad returns the host of an object that is a wildcard directly below a public suffix, such as *.com or *.co.uk: it
// would claim the names of all who have one there. Else it is empty. A top-level domain that nobody knows, such as of a
// network of one's own, is one too.
func Broad(object api.Object) string {
	claim, _ := ClaimOf(object)
	zone, wildcard := strings.CutPrefix(claim.Host, "*.")
	if suffix, _ := publicsuffix.PublicSuffix(zone); wildcard && suffix == zone {
		return claim.Host
	}
	return ""
}

// stamp returns the value of api.StampHost for a claim.
func (c Claim) stamp() string { return c.Since.UTC().Format(time.RFC3339Nano) + " " + c.Host }
