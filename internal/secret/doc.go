// Package secret keeps the cluster's key material: the age identity that encrypts what is stored secretly, the HMAC key
// by which secret values are compared without being decrypted, and the bearer token of the loopback listener.
//
// It decides when a key may be made: on the first boot alone. A store that was ever encrypted under a key names that
// key's fingerprint, and Open refuses to go on with another one or with none. It never prints, logs or returns a key.
package secret
