// Package health computes the health of an application's objects.
//
// Of translates one object, and WithPods adds the cause that the pods of a workload show: both are pure functions.
// Reader reads the objects that Flux lists of a release. An object that it may not read is Unknown, and the message
// names the missing right. Trees decides when to read each application and keeps the result for the instance's
// controller, the only writer of the status. The package itself writes nothing.
//
// The package reads only objects in the application's namespace. For kinds without a state, such as Secrets, it reads
// only the metadata.
//
//	health.Of(nil)  // Missing: it does not exist
//	health.Of(live) // Degraded: Progress deadline exceeded
package health
