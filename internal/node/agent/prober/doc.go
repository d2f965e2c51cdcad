// Package prober runs the probes of a node's containers: one loop with one timer for all of them, and a bounded number
// of attempts at once, so that a thousand probes cost little more than their attempts.
//
// It makes no decisions: internal/core/probe decides when a probe runs next and what its answers mean,
// internal/core/healing what follows for the container. It remembers only the containers it follows; the caller passes
// in the stored phases.
//
// An HTTP probe passes on a status of 200 to 399; redirects are not followed, since any answer is enough. A TCP probe
// passes when a connection is accepted, an exec probe when its command exits with 0. Each attempt uses the container's
// current address, and ends at its timeout; a command that keeps running is killed and counts as failed. If nothing can
// be learned about the container (the engine is away, the container is just ending), nothing is counted.
//
//	p := prober.New(prober.Options{Ask: prober.Asking(containers), Changed: reconcile})
//	p.Follow(prober.Target{Task: "t1", Container: id, StartedAt: at, Probes: spec.Probes, Status: status.Probes})
//	err := p.Run(ctx)
package prober
