// Package runtime is the interface to the software that runs containers on a node: docker, process (plain child
// processes), hollow (simulated).
//
// A runtime performs single, idempotent steps and reports what it observes. It decides nothing: internal/core/healing
// decides when to start, heal or remove a container, and the agent does so. runtimetest is the contract every runtime
// passes.
package runtime
