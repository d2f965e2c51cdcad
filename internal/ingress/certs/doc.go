// Package certs finds the certificate of a host that a node's proxy serves: one the user provided, one of the cluster's
// own authority, or one obtained and renewed over ACME.
//
// certmagic obtains, renews, backs off and staples. This package decides which host gets which certificate, and reports
// the state of each. The storage decides where keys and certificates lie.
package certs
