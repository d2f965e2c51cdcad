// Package api holds the values that cross Tend's borders: kinds, specs, statuses, tasks, releases, conditions, and the
// names they carry on the wire.
//
// It decides nothing and does nothing: no I/O, no clock, no dependency but the standard library. Everything else in
// the tree imports it; it imports nothing of the tree.
//
// A manifest's spec is kept exactly as its author wrote it. Defaults are computed when a value is read
// (DeploymentSpec.ReplicaCount, Strategy.Resolve), never stored, so that an upgrade of Tend that changes a default is
// visible as such and a spec's hash never moves by itself.
package api
