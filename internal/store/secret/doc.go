// Package secret manages the cluster's key material: the age identity that encrypts secrets in the store, the HMAC key
// by which secret values are compared without being decrypted, and the bearer token of the loopback listener.
//
// It decides when a key may be created: only on the first boot. A store that was ever encrypted under a key names that
// key's fingerprint, and Open fails with another key or without one. It never prints, logs or returns a key.
package secret
