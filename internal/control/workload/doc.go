// Package workload holds the kinds of deployments and of statefulsets. Their step keeps the slots that a spec asks for filled
// with tasks of the current release.
//
// In a step, observe reads everything at one revision, assess decides which release is wanted and asks internal/core/rollout
// what to do about the slots, and act returns the whole answer (image request, release, tasks, status) as one transaction.
// Nothing else is ever written, so a crash leaves either all of a step or nothing, and the next step continues from there.
//
// It never talks to a container engine: the node's agent resolves the image and runs the tasks, and both are read from
// the observed halves the agent reports.
package workload
