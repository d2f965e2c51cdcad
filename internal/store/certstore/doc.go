// Package certstore stores certificates, their keys and the accounts they were obtained with in the store: encrypted,
// the same for all servers, and locked so that only one of them obtains a certificate at a time. It decides nothing
// about them.
package certstore
