package workload

import (
	"fmt"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rollout"
)

// outage returns a text with the outage that a bad release causes, if all pods stop before the new ones start; empty
// if some keep running.
func outage(a assessment, forecast []rollout.Action) string {
	strategy, wanted := a.desired.Strategy, a.desired.Replicas
	replaced := slices.ContainsFunc(forecast, func(next rollout.Action) bool {
		return next.Verb == rollout.Shutdown && next.Version.Release != a.desired.Target.Release &&
			next.Version.Release == a.desired.LastGood
	})
	if strategy.Order != api.OrderStopFirst || wanted == 0 || wanted > strategy.MaxParallel || !replaced {
		return ""
	}
	pods := "1 replica"
	if wanted > 1 {
		pods = fmt.Sprintf("%d replicas at once", wanted)
	}
	back := fmt.Sprintf("is an outage of up to %s (strategy.deadline), until %s is back", api.ShortDuration(strategy.Deadline),
		a.desired.LastGood)
	if strategy.OnFailure != api.OnFailureRollback {
		back = fmt.Sprintf("takes all pods down until it is corrected, or you run tend rollback (on_failure = %q)", strategy.OnFailure)
	}
	return fmt.Sprintf("%s, stop-first: a bad release %s", pods, back)
}
