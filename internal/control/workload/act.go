package workload

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/owner"
	"tend.dev/tend/internal/core/gate"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/tracing"
)

// maxActions bounds one commit: an action is at most two operations, and a store takes 10,000. The next reconcile
// follows at once and does the rest.
const maxActions = 1000

// act commits an assessment: one transaction, on the condition that the spec has not changed since it was read.
func (c *Controller) act(ctx context.Context, o observed, a assessment, now time.Time) (engine.Result, error) {
	actions, more := firstActions(a.plan.Actions)
	step := c.begin(o, a, now)
	step.requestImage()
	if release := a.target.minted(); release != nil {
		step.mint(release)
	}
	step.writeRuns(a.runs)
	status := o.nextStatus(a, now)
	for _, action := range actions {
		if action.Verb == rollout.RollBack {
			c.turnBack(o, &status, a, action.Version.Release, now)
			more = true // no event follows: the next reconcile chooses the release
			continue
		}
		step.write(action)
	}
	step.dropReleases(a.gone)
	step.notify(append(o.deployCalls(a, status, now), o.probeCalls(now)...))
	if err := step.putStatus(status); err != nil {
		return engine.Result{}, err
	}
	revision, err := c.Commit(ctx, step.txn, records.StatusKey(o.ref))
	if err != nil {
		return engine.Result{}, err
	}
	if revision > 0 {
		c.log(ctx, o, a, actions)
	}
	return engine.Result{Revision: revision, After: o.wait(a, now, more && revision > 0)}, nil
}

// turnBack records that the release in force is given up for a good one. If the spec asks for a newer release that
// isn't in force yet, that one hasn't failed and keeps its chance.
func (c *Controller) turnBack(o observed, status *api.WorkloadStatus, a assessment, good string, now time.Time) {
	if a.target.superseded {
		status.Rollout.TargetRelease = good
		return
	}
	status.Rollout.Failed = o.failedRollout(a, now)
	if release := o.release(good); release != nil { // its environment comes back with it, in which the cause may lie
		status.Rollout.Failed.Config, _ = c.env.Between(*release, *a.target.release) // unreadable: no key is named
	}
}

// firstActions returns the actions of one commit. It never separates a stop from the creation of the replacement.
func firstActions(all []rollout.Action) (actions []rollout.Action, more bool) {
	if len(all) <= maxActions {
		return all, false
	}
	n := maxActions
	if last, next := all[n-1], all[n]; last.Verb == rollout.Shutdown && next.Verb == rollout.Create {
		n--
	}
	return all[:n], true
}

// wait returns when to reconcile again if no event comes first: when the plan says so, when a silent node is lost, when a
// clock that was set back is where it was, and at once if actions are left.
func (o observed) wait(a assessment, now time.Time, more bool) time.Duration {
	if more {
		return time.Millisecond
	}
	turned := max(o.rollout().TurnedAt.Sub(now), 0)
	return owner.Sooner(owner.Sooner(turned, o.silent), owner.Sooner(a.plan.After, a.runs.after))
}

// due reports whether act would write anything.
func (o observed) due(a assessment, now time.Time) (bool, error) {
	if len(a.plan.Actions) > 0 || a.target.mint || len(a.gone)+len(o.cleared) > 0 || !a.runs.empty() {
		return true, nil
	}
	if _, wanted := o.wantedImage(); wanted {
		return true, nil
	}
	return o.statusChanged(o.nextStatus(a, now))
}

// wantedImage returns the image request, and whether it has yet to be written.
func (o observed) wantedImage() (api.ImageRequest, bool) {
	want := o.asks()
	there := o.request.Exists() && o.request.Value.Equal(want)
	return want, want.Image != "" && !there && !o.deleting()
}

func (o observed) statusChanged(next api.WorkloadStatus) (bool, error) {
	return control.Differs(o.status.Value, next)
}

func (c *Controller) log(ctx context.Context, o observed, a assessment, actions []rollout.Action) {
	if release := a.target.minted(); release != nil {
		c.Logger.InfoContext(ctx, "release minted", "object", o.ref.String(), "release", release.ID, "reason", release.Reason)
	}
	if start := a.runs.start; start != nil {
		c.Logger.InfoContext(ctx, "release command begins", "object", o.ref.String(), "release", start.release.ID, "command", gate.Field(start.role))
	}
	for _, action := range actions {
		tracing.Note(ctx, "action", action.String())
		c.Logger.InfoContext(ctx, "plan", "object", o.ref.String(), "action", action.String())
	}
}
