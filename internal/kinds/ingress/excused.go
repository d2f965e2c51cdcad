package ingress

import (
	"time"

	"tend.dev/tend/api"
)

// outage is the time that an app whose pods were ready may be without a ready one before that is a failure: a pod that
// crashed once is back sooner. What has a deadline of its own is not measured by it.
const outage = 30 * time.Second

// unreadySince sets for how long no request has reached a pod, by the conditions of the last reconcile.
func (o *observed) unreadySince(before []api.Condition, now time.Time) {
	if ready := api.FindCondition(before, api.ConditionReady); ready != nil && ready.Status == api.ConditionFalse {
		o.unready = now.Sub(ready.LastTransitionTime)
	}
}

// excused reports whether the lack of a ready pod is excused, and if time alone ends that, how long it is still
// none. Nothing is a failure before its deadline: an image, a command and a pod that starts have theirs, and once it
// has passed, the workload is degraded.
func (o observed) excused() (left time.Duration, excused bool) {
	switch {
	case o.degraded():
		return 0, false
	case o.workload.ReplicaCount() == 0 || o.onItsWay():
		return 0, true
	}
	left = max(0, outage-o.unready)
	return left, left > 0
}

// onItsWay reports whether the workload brings pods about: the first ones, or others in their place.
func (o observed) onItsWay() bool {
	if o.rollout == nil {
		return true
	}
	progressing := api.FindCondition(o.rollout.Conditions, api.ConditionProgressing)
	return !o.degraded() && progressing != nil && progressing.Status == api.ConditionTrue &&
		(o.pods == 0 || o.starting > 0)
}

func (o observed) degraded() bool {
	if o.rollout == nil {
		return false
	}
	c := api.FindCondition(o.rollout.Conditions, api.ConditionDegraded)
	return c != nil && c.Status == api.ConditionTrue
}
