package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/gate"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/store/records"
)

// ending is the outcome of a rollout.
type ending struct {
	release *api.Release
	restart string
	outcome string
	reason  string
	// detail is the error with the last log lines.
	detail string
	// began is the start time of the rollout.
	began time.Time
}

// ended returns how the rollout of the wanted release ended; ok is false while it goes on.
func (o observed) ended(a assessment) (e ending, ok bool) {
	e = ending{release: a.target.release, restart: o.stamp(api.StampRestart), outcome: api.OutcomeFailure,
		began: o.rollout().StartedAt}
	switch {
	case a.target.pending != nil && a.target.pending.gate.State == gate.Failed:
		p := a.target.pending
		e.release, e.reason, e.began = p.release, p.gate.Reason, p.release.CreatedAt
		e.detail = withLog(p.gate.Message, p.gate.Run.LastLog)
	case a.target.turned != nil:
		turned := a.target.turned
		e.release, e.restart, e.reason = o.release(turned.Release), turned.Restart, turned.Reason
		e.detail = withLog(turned.Message, turned.LastLog)
	case a.target.pending != nil || a.target.awaits || !a.known:
		return e, false
	case a.plan.Phase == api.RolloutPaused || a.rollsBack():
		e.reason, e.detail = a.plan.Reason, withLog(o.failure(a.plan), o.lastLog(a.plan.Slot))
	case a.plan.Phase == api.RolloutComplete:
		e.outcome, e.reason = api.OutcomeSuccess, a.plan.Reason
	default:
		return e, false
	}
	return e, e.release != nil
}

func withLog(message string, lines []string) string {
	return strings.Join(append([]string{message}, lines...), "\n")
}

func (a assessment) rollsBack() bool {
	return slices.ContainsFunc(a.plan.Actions, func(action rollout.Action) bool {
		return action.Verb == rollout.RollBack
	})
}

// notified returns the last outcome that the on_deploy webhooks are notified of, or nil if there was none.
//
// Each release and restart notifies failure at most once and success at most once; a success may follow a failure.
// After success, later failures are not part of the rollout and notify nothing.
func (o observed) notified(a assessment, now time.Time) *api.NotifiedOutcome {
	var last api.NotifiedOutcome
	if o.status.Value != nil && o.status.Value.Notified != nil {
		last = *o.status.Value.Notified
	}
	e, ok := o.ended(a)
	same := ok && last.Release == e.release.ID && last.Restart == e.restart
	if !ok || same && (last.Outcome == e.outcome || last.Outcome == api.OutcomeSuccess) {
		if last.Number == 0 {
			return nil
		}
		return &last
	}
	return &api.NotifiedOutcome{Number: last.Number + 1, Release: e.release.ID, Restart: e.restart, Outcome: e.outcome,
		At: now}
}

// outcomes returns how the rollouts of the kept releases ended.
func (o observed) outcomes(a assessment) map[string]api.ReleaseOutcome {
	var last map[string]api.ReleaseOutcome
	if o.status.Value != nil {
		last = o.status.Value.Outcomes
	}
	next := make(map[string]api.ReleaseOutcome, len(last)+1)
	for id, outcome := range last {
		if o.release(id) != nil && !slices.Contains(a.gone, id) {
			next[id] = outcome
		}
	}
	e, ok := o.ended(a)
	switch {
	case !ok || next[e.release.ID].Good:
	case e.outcome == api.OutcomeSuccess:
		next[e.release.ID] = api.ReleaseOutcome{Good: true}
	default:
		next[e.release.ID] = api.ReleaseOutcome{Reason: e.reason, Message: e.detail}
	}
	if len(next) == 0 {
		return nil
	}
	return next
}

// deployCalls returns the webhook calls for an outcome: none unless this reconcile found a new one.
func (o observed) deployCalls(a assessment, next api.WorkloadStatus, now time.Time) []api.Delivery {
	number := 0
	if o.status.Value != nil && o.status.Value.Notified != nil {
		number = o.status.Value.Notified.Number
	}
	if next.Notified == nil || next.Notified.Number == number {
		return nil
	}
	e, _ := o.ended(a)
	list := api.HooksDeploySuccess
	if e.outcome == api.OutcomeFailure {
		list = api.HooksDeployFailure
	}
	tokens := o.tokens(now, e.reason)
	tokens["release_id"], tokens["image"], tokens["status"], tokens["error"] = e.release.ID, e.release.Image, e.outcome,
		e.detail
	tokens["started_at"], tokens["completed_at"] = stampOf(e.began), stampOf(now)
	return o.calls(list, fmt.Sprintf("deploy-%s-%s-%d", e.release.ID, e.outcome, next.Notified.Number), tokens, now)
}

func (o observed) tokens(now time.Time, reason string) map[string]string {
	return map[string]string{
		"kind": string(o.ref.Kind), "scope": o.ref.Scope, "name": o.ref.Name, "reason": reason,
		"timestamp": stampOf(now),
	}
}

// calls returns one call for each target of a list of hooks, except those that are already recorded.
func (o observed) calls(list, id string, tokens map[string]string, now time.Time) []api.Delivery {
	var out []api.Delivery
	for i, path := range o.spec.HookPaths(list) {
		if o.recorded(id + "-" + strconv.Itoa(i)) {
			continue
		}
		out = append(out, api.Delivery{
			ID: id + "-" + strconv.Itoa(i), Kind: o.ref.Kind, Scope: o.ref.Scope, Name: o.ref.Name,
			Hook: path, Tokens: tokens, State: api.DeliveryPending, CreatedAt: now,
		})
	}
	return out
}

func stampOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// notify creates the records of calls. Each is created only if it doesn't exist, so a crash never repeats one.
func (s *writes) notify(calls []api.Delivery) {
	for _, call := range calls {
		key := records.DeliveryKey(s.o.ref, call.ID)
		s.txn.If(key, 0).Put(key, call)
	}
}
