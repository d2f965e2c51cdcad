// Package downstream watches the kinds of other controllers whose objects the operator creates, and maps an event back to
// the object that it belongs to.
//
// A kind may be absent: the operator runs without Flux or Velero. A Source asks the API server from time to time whether it
// serves the kind, and starts the watch when it does, without a restart.
package downstream
