// Package runtime is the border to what runs containers on a node: docker, process (plain child processes), hollow
// (simulated).
//
// A runtime performs single, idempotent steps and reports what it sees. It decides nothing: when to start, heal or
// remove is internal/core/healing, and the agent carries it out. runtimetest is the contract every runtime passes.
package runtime
