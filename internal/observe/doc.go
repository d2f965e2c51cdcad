// Package observe holds what measures and traces: the calls of the store, the events, a census of the cluster, and the
// spans of a change.
//
// It changes no answer and decides nothing. Labels name operations, never objects.
package observe
