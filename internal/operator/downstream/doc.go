// Package downstream watches kinds of other controllers, whose objects the operator creates, and maps each event to the
// object it belongs to.
//
// A kind may be absent: the operator runs without Flux or Velero. A Source periodically asks the API server whether it
// serves the kind, and starts the watch once it does, without a restart.
package downstream
