// Package environment builds the environment of an object from the store: its own buckets, decrypted, the buckets it
// names by env_from, and its manifest with references to other objects replaced. Every controller whose objects run
// containers uses it.
//
// internal/core/env decides what overrides what, internal/core/reference the syntax of references; this package
// supplies the values. It writes nothing. Values leave it only in an environment, sealed or as a keyed hash, and never
// in an error.
package environment
