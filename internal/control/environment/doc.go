// Package environment makes the environment of an object from what lies in the store: its buckets, opened, those it names
// by env_from, and its manifest with references to other objects replaced. Every controller whose objects run containers
// uses the same one.
//
// What is laid over what is decided by internal/core/env, how references look by internal/core/reference; this package
// brings them the values. It writes nothing. Values leave it in an environment, sealed or as a keyed hash, and in no error.
package environment
