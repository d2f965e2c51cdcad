package outcome

import (
	"slices"

	"tend.dev/tend/api"
)

// lasting are the reasons of what has ended for good: Tend doesn't try it again by itself, and the message names the
// command that does.
var lasting = []string{
	api.ReasonRunFailed, api.ReasonStopped, api.ReasonReleaseCommandFailed, api.ReasonRolledBack, api.ReasonLabFailed,
	api.ReasonDrifted, api.ReasonMissing, api.ReasonTerminating, // a cluster heals by its own clock, or only reports
}

// Retry reports whether an apply that changes nothing of an object asks for another try: the last answer about it is a
// failure, and that answer is older than the apply. An object that converged, or is on its way, needs none. An
// operation is carried out once, whatever it came to.
func Retry(object api.Object) (bool, error) { return retry(object, false) }

// RetryOnce is Retry for a verb other than apply: while the try that was asked for last is under way, it asks for no
// other.
func RetryOnce(object api.Object) (bool, error) { return retry(object, true) }

func retry(object api.Object, once bool) (bool, error) {
	if object.Metadata.Deleting() || !object.Kind.HasController() || object.Kind == api.KindOperation {
		return false, nil
	}
	status, err := api.DecodeStatus[api.WorkloadStatus](object)
	if err != nil {
		return false, err
	}
	if status.Rollout != nil && status.Rollout.Failed != nil {
		return false, nil // the version was rolled back, whatever else is the matter now
	}
	awaited := api.Awaited{Ref: object.Ref(), Revision: object.Metadata.Revision, Built: object.Tree() != ""}
	all, err := Judge([]api.Awaited{awaited}, func(api.Ref) Observed { return Observed{Found: true, Object: object} })
	if err != nil {
		return false, err
	}
	degraded := api.FindCondition(status.Conditions, api.ConditionDegraded)
	troubled := degraded != nil && degraded.Status == api.ConditionTrue
	if troubled && slices.Contains(lasting, degraded.Reason) {
		return false, nil
	}
	switch all[0].State {
	case api.OutcomeFailed, api.OutcomeHeld:
		return true, nil
	case api.OutcomePending: // a rollout that goes on after a failure waits for its next try
		if !troubled || !object.Kind.HasSlots() {
			return false, nil
		}
		asked := api.NonceTime(object.Metadata.Stamps[api.StampPull])
		return !once || !asked.After(degraded.LastTransitionTime), nil
	}
	return false, nil
}
