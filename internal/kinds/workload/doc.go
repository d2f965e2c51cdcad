// Package workload holds the kinds of deployments and statefulsets. Their step keeps the slots of a spec filled with
// tasks of the current release.
//
// In a step, observe reads everything at one revision, assess chooses the desired release and asks
// internal/core/rollout what to do about the slots, and act returns the whole result (image request, release, tasks,
// status) as one transaction. Nothing else is written, so a crash leaves all of a step or nothing, and the next step
// continues from there.
//
// The package never talks to a container engine: the node's agent resolves the image and runs the tasks, and reports
// both in the observed halves.
package workload
