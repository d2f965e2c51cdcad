// Package servingcert makes and renews the certificate of the operator's admission webhooks. A Secret in the operator's
// namespace holds an authority and a certificate signed by it. Every replica serves with the certificate. The authority
// is written into the configuration of the webhooks, so that the API server trusts it.
//
// When a third of its lifetime is left, the certificate is renewed under the same authority, so the API server notices
// nothing. When the authority gets old, a new one is created, and both are trusted while the replicas switch.
package servingcert
