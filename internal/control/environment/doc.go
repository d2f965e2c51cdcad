// Package environment builds the environment of an object from the store: its own buckets, decrypted; the buckets named
// in env_from; and its manifest, with references to other objects replaced. Every controller whose objects run
// containers uses it.
//
// internal/core/env decides what overrides what, and internal/core/reference defines the syntax of references. This
// package supplies the values. It writes nothing. Values leave it only in an environment, sealed or as a keyed hash,
// and never in an error.
package environment
