// Package workload is the controller of deployments and of statefulsets, one instance per kind. It keeps the slots that
// a spec asks for filled with tasks of the current release.
//
// A reconcile is one step: observe reads everything at one revision, assess decides which release is wanted and asks
// internal/core/rollout what to do about the slots, act commits the whole answer (image request, release, tasks,
// status) as one transaction on the condition that the spec has not changed since it was read. Nothing else is ever
// written, so a crash leaves either all of a step or nothing, and the next reconcile continues from there.
//
// It never talks to a container engine: the node's agent resolves the image and runs the tasks, and both are read from
// the observed halves the agent reports.
package workload
