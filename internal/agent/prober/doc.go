// Package prober asks the probes of a node's containers: one loop with one timer for all of them, and a bounded number of
// attempts at once, so that a thousand probes cost little more than their attempts.
//
// It decides nothing: when a probe asks next and what its answers amount to is internal/core/probe, what follows for the
// container is internal/core/healing. It remembers nothing beyond the containers it follows; phases are handed in by who
// stores them.
//
// An HTTP probe passes on a status of 200 to 399; redirects are not followed, for an answer is all that was asked for.
// A TCP probe passes when a connection is accepted, an exec probe when its command exits with 0. Each attempt asks the
// container's address as it is then, and ends at its timeout; a command that goes on is killed and counts as failed.
// Where nothing can be learned of the container (the engine is away, the container is just ending), nothing is counted.
//
//	p := prober.New(prober.Options{Ask: prober.Asking(containers), Changed: look})
//	p.Follow(prober.Target{Task: "t1", Container: id, StartedAt: at, Probes: spec.Probes, Status: status.Probes})
//	err := p.Run(ctx)
package prober
