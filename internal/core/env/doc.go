// Package env decides what a container's environment is made of, and which of its secret files holds what.
//
// Merge lays the sources over each other, the later one wins:
//
//	the image's own (the runtime adds it)
//	the buckets of each env_from entry, in order
//	the bucket of the object's scope
//	the object's own bucket
//	the manifest's env
//	the identity (TEND_SCOPE …; the agent adds it)
//
// An env_from entry names another app: its bucket, and where it lives in another scope that scope's bucket under it. What
// the other app's manifest declares stays its own. Neither app needs to exist: a bucket may be there for sharing alone.
//
// The package reads no store and knows no key: values come in plain text from its caller, and it never logs or quotes one.
package env
