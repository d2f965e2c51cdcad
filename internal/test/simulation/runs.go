package simulation

import (
	"context"
	"math/rand/v2"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func runSomething(w *World, random *rand.Rand) {
	ref := anyOf(random, []api.Ref{cast[5], cast[6]})
	w.ask(ref, input{verb: "run"}, w.running(ref))
}

func (w *World) running(ref api.Ref) func(ctx context.Context) error {
	return w.people.runOnce(func(ctx context.Context) (api.RunResult,
		error) {
		return w.client.Run(ctx, client.TargetOf(ref))
	})
}

// runRelease runs a release command again.
func runRelease(w *World, random *rand.Rand) {
	ref := anySlotted(random)
	w.ask(ref, input{verb: "run the release command"}, w.people.runOnce(func(ctx context.Context) (api.RunResult, error) {
		return w.client.RunRelease(ctx, client.TargetOf(ref))
	}))
}

// runOnce requests a run until the outcome is known, and counts it: at most one run may come of it, and none if the
// first answer was a refusal.
func (p *people) runOnce(call func(ctx context.Context) (api.RunResult, error)) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		p.runs.Add(1)
		calls := 0
		_, err := client.Repeat(ctx, short, func(ctx context.Context) (api.RunResult, error) {
			calls++
			return call(ctx)
		})
		if answer := answerOf(err); calls == 1 && (answer == refused || answer == absent) {
			p.runs.Add(-1)
		}
		return err
	}
}
