// Package hosts decides to which scope a host name belongs, and by which TLS policy it is served.
//
// A host belongs to the scope that claimed it first, by an ingress or by a lab; *.example.org claims every name one
// level below that nobody had claimed before. Ingresses of other scopes serve paths of the host only if the owner names
// their scope in shared_with. All of a host is served by the owner's policy: where an ingress names no tls, that is its
// own too.
//
// The verbs refuse what this package refuses. What is stored all the same, since an owner took back what it had shared,
// is not served: see internal/node/nodeapi/local.
package hosts
