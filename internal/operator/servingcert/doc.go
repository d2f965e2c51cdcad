// Package servingcert has the operator handle the certificate of its admission webhooks by itself. A Secret in its namespace
// holds an authority and a certificate that it signed; every replica serves with the certificate, and the authority is written
// into the configuration of the webhooks, for the API server to trust. The certificate is renewed under the same authority when
// a third of its life is left, so that the API server notices nothing. When the authority itself gets old, another one is
// founded, and both are trusted while the replicas change over.
package servingcert
