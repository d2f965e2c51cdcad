// Package env decides which sources make up a container's environment, and what each of its secret files contains.
//
// Merge overlays the sources; a later one wins:
//
//	the image's own (the runtime adds it)
//	the buckets of each env_from entry, in order
//	the bucket of the object's scope
//	the object's own bucket
//	the manifest's env
//	the identity (TEND_SCOPE …; the agent adds it)
//
// An env_from entry names another app. It adds that app's bucket and, if the app is in another scope, that scope's
// bucket below it. The env in the other app's manifest is not shared. The app needn't exist: a bucket may exist only to
// be shared.
//
// The package reads no store and holds no key: its caller passes values in plain text. It never logs or quotes one.
package env
