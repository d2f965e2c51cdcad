package workload

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// maxActions bounds one commit: an action is at most two operations, and a store takes 10,000. The next reconcile
// follows at once and does the rest.
const maxActions = 1000

// act turns an assessment into a step.
func (c *workloads) act(at control.Observation, o observed, a assessment) control.Step {
	actions, more := firstActions(a.plan.Actions)
	w := begin(at, o, a)
	next := control.Step{Txn: w.txn}
	want, due := o.wantedImage()
	o.early.Settle(w.txn, want, due)
	if due {
		w.txn.If(records.ImageKey(o.ref), o.request.Modified).Put(records.ImageKey(o.ref), want)
		next.Actions = append(next.Actions, o.lookFor())
	}
	if release := a.target.minted(); release != nil {
		w.mint(release)
		next.Actions = append(next.Actions, o.minting(release))
	}
	w.writeRuns(a.runs)
	if start := a.runs.start; start != nil {
		next.Actions = append(next.Actions, o.running(start.role, start.release))
	}
	status := o.nextStatus(a, at.Now)
	for _, action := range actions {
		if action.Verb == rollout.RollBack {
			c.turnBack(o, &status, a, action.Version.Release, at.Now)
			more = true // no event follows: the next reconcile chooses the release
			continue
		}
		w.write(action)
	}
	w.plan(&next, actions)
	w.dropReleases(a.gone)
	w.notify(append(o.deployCalls(a, status, at.Now), o.probeCalls(at.Now)...))
	next.Status, next.After = status, o.wait(a, at.Now, more)
	return next
}

// plan adds the actions of a plan to a step. The remains of ended slots are removed without a word in the dry run.
func (s *writes) plan(next *control.Step, actions []rollout.Action) {
	for _, action := range actions {
		if action.Verb == rollout.Forget || action.Verb == rollout.Remove {
			next.Chores = append(next.Chores, s.o.planned(action))
			continue
		}
		next.Actions = append(next.Actions, s.o.planned(action))
	}
}

// turnBack records that the release in force is given up for a good one. If the spec asks for a newer release that
// isn't in force yet, that one hasn't failed and keeps its chance.
func (c *workloads) turnBack(o observed, status *api.WorkloadStatus, a assessment, good string, now time.Time) {
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

// wait returns when to reconcile again if no event comes first: when the plan says so, when a silent node is lost, when
// a clock that was set back is where it was, and at once if actions are left.
func (o observed) wait(a assessment, now time.Time, more bool) time.Duration {
	if more {
		return time.Millisecond
	}
	turned := max(o.rollout().TurnedAt.Sub(now), 0)
	return owner.Sooner(owner.Sooner(turned, o.silent), owner.Sooner(a.plan.After, a.runs.after))
}

// wantedImage returns the image request, and whether it has yet to be written.
func (o observed) wantedImage() (api.ImageRequest, bool) {
	want := o.asks()
	there := o.request.Exists() && o.request.Value.Equal(want)
	return want, want.Image != "" && !there && !o.deleting()
}
