package deployment

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/layout"
)

// maxActions bounds one commit: an action is at most two operations, and a store takes 10,000. The rest follows at once.
const maxActions = 1000

// act commits an assessment: one transaction, on the condition that the spec is still the one that was read.
func (c *Controller) act(ctx context.Context, o observed, a assessment, now time.Time) (engine.Result, error) {
	actions, more := firstActions(a.plan.Actions)
	step := c.begin(o, a, now)
	step.requestImage()
	if a.target.mint {
		step.mint(a.target.release)
	}
	status := o.nextStatus(a, now)
	for _, action := range actions {
		if action.Verb == rollout.RollBack {
			status.Rollout.Failed = o.failedRollout(a, now)
			more = true // no event follows: the release it turns to is told by the next look
			continue
		}
		step.write(action)
	}
	for _, id := range o.surplusReleases(a) {
		step.txn.Delete(layout.ReleaseKey(o.ref, id))
	}
	if err := step.putStatus(status); err != nil {
		return engine.Result{}, err
	}
	revision, err := step.txn.Commit(ctx, c.Store)
	if err != nil {
		return engine.Result{}, err
	}
	if revision > 0 {
		c.log(o, a, actions)
	}
	return engine.Result{Revision: revision, After: a.after(more && revision > 0)}, nil
}

// firstActions are what one commit carries. A stop is never told without the creation of what comes after it.
func firstActions(all []rollout.Action) (actions []rollout.Action, more bool) {
	if len(all) <= maxActions {
		return all, false
	}
	n := maxActions
	if last, next := all[n-1], all[n]; last.Verb == rollout.Shutdown && next.Verb == rollout.Create && next.Replaces == last.Slot {
		n--
	}
	return all[:n], true
}

// after is when to look again without an event: when the plan says so, and at once after a step that isn't the whole.
func (a assessment) after(more bool) time.Duration {
	if more {
		return time.Millisecond
	}
	return a.plan.After
}

// due says whether act would write anything.
func (o observed) due(a assessment, now time.Time) (bool, error) {
	if len(a.plan.Actions) > 0 || a.target.mint || len(o.surplusReleases(a)) > 0 {
		return true, nil
	}
	if _, wanted := o.wantedImage(); wanted {
		return true, nil
	}
	return o.statusChanged(o.nextStatus(a, now))
}

// wantedImage is the image request to write, if it isn't written yet.
func (o observed) wantedImage() (api.ImageRequest, bool) {
	want := api.ImageRequest{Owner: o.ref, Image: o.spec.Image, Nonce: o.stamp(api.StampPull)}
	there := o.request.Exists() && *o.request.Value == want
	return want, !there && !o.deleting()
}

// surplusReleases are those beyond keep_releases, oldest first; never one that a task, the rollout or a rollback refers to.
func (o observed) surplusReleases(a assessment) []string {
	surplus := len(o.releases) - o.spec.KeepReleaseCount()
	if a.target.mint {
		surplus++
	}
	if surplus <= 0 || o.deleting() {
		return nil
	}
	used := o.usedReleases(a)
	var out []string
	for _, r := range o.releases {
		if len(out) < surplus && !used[r.Value.ID] {
			out = append(out, r.Value.ID)
		}
	}
	return out
}

func (o observed) usedReleases(a assessment) map[string]bool {
	used := map[string]bool{o.stamp(api.StampRollback): true, o.rollout().LastGoodRelease: true, o.rollout().TargetRelease: true}
	if a.target.release != nil {
		used[a.target.release.ID] = true
	}
	for _, t := range o.tasks {
		used[t.desired.Value.Release] = true
	}
	return used
}

func (o observed) statusChanged(next api.WorkloadStatus) (bool, error) {
	if !o.status.Exists() {
		return true, nil
	}
	was, err := json.Marshal(o.status.Value)
	if err != nil {
		return false, fmt.Errorf("encode the status of %s: %w", o.ref, err)
	}
	is, err := json.Marshal(next)
	if err != nil {
		return false, fmt.Errorf("encode the status of %s: %w", o.ref, err)
	}
	return string(was) != string(is), nil
}

func (c *Controller) log(o observed, a assessment, actions []rollout.Action) {
	if a.target.mint {
		c.Logger.Info("release minted", "object", o.ref.String(), "release", a.target.release.ID, "reason", a.target.release.Reason)
	}
	for _, action := range actions {
		c.Logger.Info("plan", "object", o.ref.String(), "action", action.String())
	}
}
