// Package certstore keeps certificates, their keys and the accounts they were got with in the store: encrypted, the same
// for all servers, and locked so that one of them gets a certificate at a time. It decides nothing about them.
package certstore
