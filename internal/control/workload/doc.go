// Package workload is the controller of deployments and of statefulsets, one instance a kind: it keeps the slots a spec
// asks for filled with tasks of the release it amounts to.
//
// A reconcile is one step: observe reads everything at one revision, assess decides which release is wanted and asks
// internal/core/rollout what to do about the slots, act commits the whole answer (image request, release, tasks,
// status) as one transaction on the condition that the spec is still the one that was read. Nothing else is ever
// written, so a crash leaves either all of a step or none, and the next look goes on from there.
//
// It never talks to a container engine: the node's agent resolves the image and runs the tasks, and both are read from
// the observed halves the agent reports.
package workload
