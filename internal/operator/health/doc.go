// Package health says how the objects of an application are.
//
// Of translates one object, and WithPods adds the cause that the pods of a workload show: both are pure functions.
// Reader reads the objects that Flux lists of a release. Without the right to read one it is Unknown, and the message
// names that right. Trees decides when each application is read, and keeps the result for the instance's
// controller, the only writer of the status. It writes nothing itself.
//
// The package never reads objects of another namespace than the application's, and of kinds that have no state, such as
// Secrets, nothing but the metadata.
//
//	health.Of(nil)  // Missing: it does not exist
//	health.Of(live) // Degraded: Progress deadline exceeded
package health
