package hosts

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// Table maps each host to its claims, oldest first.
type Table map[string][]Claim

// TableOf returns the claims of objects.
func TableOf(objects iter.Seq[*api.Object]) Table {
	t := Table{}
	for object := range objects {
		if claim, asks := ClaimOf(*object); asks {
			t[claim.Host] = append(t[claim.Host], claim)
		}
	}
	for _, claims := range t {
		slices.SortFunc(claims, func(a, b Claim) int {
			return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Ref.String(), b.Ref.String()))
		})
	}
	return t
}

// Stamp returns the value of api.StampHost for an object that replaces old, which is nil for a new one; empty if it
// claims no host. A claim keeps its time while its host stays, and a new one comes after those there are, whatever the
// clock says.
func (t Table) Stamp(old *api.Object, next api.Object, now time.Time) string {
	claim, asks := ClaimOf(next)
	if !asks {
		return ""
	}
	if old != nil {
		if before, asked := ClaimOf(*old); asked && before.Host == claim.Host {
			return before.stamp()
		}
	}
	claim.Since = now
	for _, host := range []string{claim.Host, above(claim.Host)} {
		for _, other := range t[host] {
			if !other.Since.Before(claim.Since) {
				claim.Since = other.Since.Add(1)
			}
		}
	}
	return claim.stamp()
}

// above returns the wildcard that a host is under; empty for a wildcard.
func above(host string) string {
	label, rest, found := strings.Cut(host, ".")
	if label == "*" || !found {
		return ""
	}
	return "*." + rest
}

// owner returns the claim that a host belongs to.
func (t Table) owner(host string) (owner Claim, owned bool) {
	for _, name := range []string{host, above(host)} {
		if claims := t[name]; len(claims) > 0 && (!owned || claims[0].Since.Before(owner.Since)) {
			owner, owned = claims[0], true
		}
	}
	return owner, owned
}

// holds reports whether a claim is the owner's, or of a scope that the owner shares the host with.
func (t Table) holds(c, owner Claim) bool {
	return c.Ref.Scope == owner.Ref.Scope || slices.ContainsFunc(t[owner.Host], func(other Claim) bool {
		return other.Ref.Scope == owner.Ref.Scope && slices.Contains(other.SharedWith, c.Ref.Scope)
	})
}

// Served returns by which policy a claim of the table is served, and the object that declares it: a nil policy for
// plain HTTP. It is not served if it does not hold.
func (t Table) Served(c Claim) (policy *api.IngressTLS, by api.Ref, served bool) {
	owner, owned := t.owner(c.Host)
	if !owned || !t.holds(c, owner) {
		return nil, api.Ref{}, false
	}
	policy, by = t.tls(c.Host, owner)
	return policy, by, true
}

// tls returns the policy of a host, and the object that declares it.
func (t Table) tls(host string, owner Claim) (*api.IngressTLS, api.Ref) {
	scope := t.decides(host, owner)
	for _, c := range t[host] {
		if c.Ref.Scope == scope && c.TLS != nil {
			return c.TLS, c.Ref
		}
	}
	return nil, api.Ref{}
}

// decides returns the scope whose TLS policy a host has: the owner's, or under a wildcard of the owner that of the
// first claim that it is shared with.
func (t Table) decides(host string, owner Claim) (scope string) {
	for _, c := range t[host] {
		if t.holds(c, owner) && (scope == "" || c.Ref.Scope == owner.Ref.Scope) {
			scope = c.Ref.Scope
		}
	}
	return scope
}

// IsGuest reports whether a claim of the table is of another scope than the one that decides about the TLS of the host.
// Such a scope must not prove to an authority that the host is its own: it would get a certificate of all of it.
func (t Table) IsGuest(c Claim) bool {
	owner, _ := t.owner(c.Host)
	return t.decides(c.Host, owner) != c.Ref.Scope
}

// Refusal explains why a claim is refused.
type Refusal struct {
	// Field is the field of the claim, Detail the problem with it, Next the next step.
	Field, Detail, Next string
	// By is the object that the claim clashes with.
	By api.Ref
}

// Hidden returns the refusal for one who may not know the other object, nor its scope.
func (r Refusal) Hidden() *Refusal {
	out := r
	switch {
	case r.Field == "tls":
		out.Detail = "the host is served by one TLS policy, and an object of another scope declares it"
		out.Next = "leave tls out, which takes the policy of the host; or ask an admin"
	case strings.HasPrefix(r.Field, "locations["):
		out.Detail = "the path is where authorities check who has the host, which is of another scope"
	default:
		out.Detail, out.Next = "it belongs to an object of another scope", "choose another host, or ask an admin whose it is"
	}
	return &out
}

// Refuse returns the refusal of a claim of the table; nil if the claim holds.
func (t Table) Refuse(c Claim) *Refusal {
	owner, _ := t.owner(c.Host)
	if !t.holds(c, owner) {
		return &Refusal{
			By: owner.Ref, Field: "host",
			Detail: fmt.Sprintf("%s belongs to the scope %s, whose %s claimed %s first",
				c.Host, owner.Ref.Scope, owner.Ref, owner.Host),
			Next: fmt.Sprintf("choose another host; or have the owner share it: shared_with = [%q] in %s",
				c.Ref.Scope, owner.Ref),
		}
	}
	if refusal := t.Unserved(c); refusal != nil {
		return refusal
	}
	policy, by := t.tls(c.Host, owner)
	if c.TLS == nil || by == c.Ref || alike(policy, c.TLS) {
		return nil
	}
	declared := "no tls is declared for it"
	if policy != nil {
		declared = by.String() + " declares it"
	}
	return &Refusal{
		By: by, Field: "tls", Detail: fmt.Sprintf("%s is served by one TLS policy, and %s", c.Host, declared),
		Next: "leave tls out, which takes the policy of the host; or declare the same one",
	}
}

// Unserved returns the refusal of the first location of a claim that is not served although the claim is: a guest's for
// the proofs of an authority. It returns nil if all are served.
func (t Table) Unserved(c Claim) *Refusal {
	i := slices.IndexFunc(c.Paths, api.IsProofPath)
	if i < 0 || !t.IsGuest(c) {
		return nil
	}
	owner, _ := t.owner(c.Host)
	return &Refusal{
		By: owner.Ref, Field: fmt.Sprintf("locations[%d].path", i),
		Detail: fmt.Sprintf("%s of %s is where authorities check who has the host, which is of the scope %s", c.Paths[i],
			c.Host, t.decides(c.Host, owner)),
		Next: "leave the location out: sharing a host gives no certificate of it",
	}
}

// alike reports whether two policies serve a host alike.
func alike(a, b *api.IngressTLS) bool { return reflect.DeepEqual(normal(a), normal(b)) }

// normal returns a policy with its defaults; a zero one serves without TLS.
func normal(tls *api.IngressTLS) api.IngressTLS {
	if !(api.IngressSpec{TLS: tls}).Secure() {
		return api.IngressTLS{}
	}
	out, on := *tls, true
	out.Enabled = &on
	if out.Provider == "" && out.Certificate == "" {
		out.Provider = api.DefaultTLSProvider
	}
	return out
}
