// Package certs finds the certificate of a host that a node's proxy serves: one a user gave, one of the cluster's own
// authority, or one got and renewed over ACME.
//
// Getting, renewing, backing off and stapling are certmagic's; this package decides which host gets which, and tells how
// each is. Where keys and certificates lie is its storage's affair.
package certs
