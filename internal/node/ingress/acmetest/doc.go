// Package acmetest runs pebble, Let's Encrypt's ACME server for tests, with a DNS server of its own.
//
// It serves tests alone. It builds pebble from the module internal/test/e2e/acme.
package acmetest
