// Package certs finds the certificate for a host that a node's proxy serves: one that the user provided, one of the
// cluster's own authority, or one obtained and renewed over ACME.
//
// certmagic obtains, renews and staples certificates, and backs off after failures. This package decides which host
// gets which certificate, and reports the state of each. The storage decides where keys and certificates are kept.
package certs
