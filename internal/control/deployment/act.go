package deployment

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/layout"
)

// act commits an assessment: one transaction, on the condition that the spec is still the one that was read.
func (c *Controller) act(ctx context.Context, o observed, a assessment, now time.Time) (int64, error) {
	txn := layout.NewTxn("deployment."+a.site()).If(layout.ObjectKey(o.ref), o.object.Modified)
	before := txn.Len()
	o.requestImage(txn)
	if a.target.mint {
		txn.If(layout.ReleaseKey(o.ref, a.target.release.ID), 0).Put(layout.ReleaseKey(o.ref, a.target.release.ID), a.target.release)
	}
	status := o.nextStatus(a, now)
	for _, action := range a.plan.Actions {
		if action.Verb == rollout.RollBack {
			status.Rollout.Failed = o.failedRollout(a, now)
			status.Rollout.Phase = api.RolloutRollingBack
			continue
		}
		c.write(txn, o, action, now)
	}
	o.pruneReleases(txn, a)
	if changed, err := o.statusChanged(status); err != nil {
		return 0, err
	} else if changed {
		txn.If(layout.StatusKey(o.ref), o.status.Modified).Put(layout.StatusKey(o.ref), status)
	}
	if txn.Len() == before {
		return 0, nil
	}
	c.log(o, a)
	return txn.Commit(ctx, c.Store)
}

// site names the commit after the first thing it does, so that failpoints stand at each kind of step.
func (a assessment) site() string {
	switch {
	case a.target.mint:
		return "release"
	case len(a.plan.Actions) > 0:
		return string(a.plan.Actions[0].Verb)
	}
	return "status"
}

// write turns one action into writes.
func (c *Controller) write(txn *layout.Txn, o observed, action rollout.Action, now time.Time) {
	switch action.Verb {
	case rollout.Create:
		txn.CreateTask(api.Task{
			ID: c.NewTask(), Kind: o.ref.Kind, Scope: o.ref.Scope, Name: o.ref.Name, Slot: c.freshSlot(o),
			Replaces: action.Replaces, After: action.After,
			Release: action.Version.Release, Restart: action.Version.Restart,
			Class: api.ClassKeep, Desired: api.DesiredRunning, CreatedAt: now,
		})
	case rollout.Shutdown:
		txn.RaiseTask(o.task(action.Task), api.DesiredShutdown, action.Reason, now)
	case rollout.Remove:
		txn.RaiseTask(o.task(action.Task), api.DesiredRemoved, action.Reason, now)
	case rollout.Forget:
		task := o.task(action.Task)
		txn.If(layout.TaskKey(action.Task), task.Modified).Delete(layout.TaskKey(action.Task))
		txn.Delete(layout.SlotKey(o.ref, action.Slot))
	}
}

// freshSlot draws an id no slot of the deployment has.
func (c *Controller) freshSlot(o observed) string {
	for {
		id := c.NewSlot()
		taken := false
		for _, t := range o.tasks {
			taken = taken || t.desired.Value.Slot == id
		}
		if !taken {
			return id
		}
	}
}

func (o observed) task(id string) layout.Read[api.Task] {
	for _, t := range o.tasks {
		if t.desired.Value.ID == id {
			return t.desired
		}
	}
	return layout.Read[api.Task]{}
}

// requestImage asks the nodes for the image of the spec.
func (o observed) requestImage(txn *layout.Txn) {
	want := api.ImageRequest{Owner: o.ref, Image: o.spec.Image, Nonce: o.stamp(api.StampPull)}
	if o.object.Value.Metadata.Deleting() || o.request.Exists() && *o.request.Value == want {
		return
	}
	txn.If(layout.ImageKey(o.ref), o.request.Modified).Put(layout.ImageKey(o.ref), want)
}

// pruneReleases deletes releases beyond keep_releases, never one that a task, the rollout or a rollback refers to.
func (o observed) pruneReleases(txn *layout.Txn, a assessment) {
	used := map[string]bool{o.stamp(api.StampRollback): true, o.rollout().LastGoodRelease: true}
	if a.target.release != nil {
		used[a.target.release.ID] = true
	}
	for _, t := range o.tasks {
		used[t.desired.Value.Release] = true
	}
	surplus := len(o.releases) - o.spec.KeepReleaseCount()
	if a.target.mint {
		surplus++
	}
	for _, r := range o.releases {
		if surplus <= 0 {
			return
		}
		if !used[r.Value.ID] {
			txn.Delete(layout.ReleaseKey(o.ref, r.Value.ID))
			surplus--
		}
	}
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

// finalize removes the object with everything that is kept under its name, once no task is left.
func (c *Controller) finalize(ctx context.Context, o observed) (int64, error) {
	txn := layout.NewTxn("deployment.finalize").If(layout.ObjectKey(o.ref), o.object.Modified)
	txn.Delete(layout.ObjectKey(o.ref)).Delete(layout.StatusKey(o.ref)).Delete(layout.ImageKey(o.ref))
	for _, r := range o.releases {
		txn.Delete(layout.ReleaseKey(o.ref, r.Value.ID))
	}
	for _, f := range o.frozen {
		txn.Delete(layout.FrozenKey(o.ref, f.Value.Slot))
	}
	txn.Delete(layout.NameKey(o.ref))
	return txn.Commit(ctx, c.Store)
}

func (c *Controller) log(o observed, a assessment) {
	if a.target.mint {
		c.Logger.Info("release minted", "object", o.ref.String(), "release", a.target.release.ID, "reason", a.target.release.Reason)
	}
	for _, action := range a.plan.Actions {
		c.Logger.Info("plan", "object", o.ref.String(), "action", action.String())
	}
}
