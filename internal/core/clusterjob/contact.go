package clusterjob

import (
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/deadline"
)

// The times of a cluster's contact.
const (
	// ContactEvery is the time between two writes while the operator asks.
	ContactEvery = 15 * time.Second
	// ContactGrace is the silence of an operator after which its cluster counts as disconnected: three requests for
	// jobs, which wait for 30 s each. One that waits longer sends a heartbeat every minute.
	ContactGrace = 90 * time.Second
)

// ConditionConnected reports whether a cluster's operator made contact lately.
const ConditionConnected = "Connected"

// Heard returns a cluster's contact after a request of its operator, and whether it is worth a write.
func Heard(
	stored *api.ClusterContact, uid, operator string, conditions []api.Condition, now time.Time,
) (api.ClusterContact, bool) {
	next := api.ClusterContact{UID: uid}
	fresh := false
	if stored != nil && stored.UID == uid {
		next, fresh = *stored, deadline.Left(stored.At.Add(ContactEvery), now, ContactEvery) > 0
	}
	next.At = now.UTC()
	operator = short(operator, maxWord)
	changed := operator != "" && operator != next.Operator
	if operator != "" {
		next.Operator = operator
	}
	if len(conditions) > 0 {
		changed = changed || !sameConditions(next.Conditions, conditions)
		next.Conditions = conditions[:min(len(conditions), maxConditions)]
	}
	return next, changed || !fresh
}

func sameConditions(a, b []api.Condition) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Type != b[i].Type || a[i].Status != b[i].Status || a[i].Reason != b[i].Reason ||
			a[i].Message != b[i].Message {
			return false
		}
	}
	return true
}

// Status returns the status of a cluster.
func Status(object api.Object, revision int64, access *api.ClusterAccess, contact *api.ClusterContact,
	before api.ClusterStatus, now time.Time) api.ClusterStatus {
	next := api.ClusterStatus{
		ObservedGeneration: object.Metadata.Generation, ObservedRevision: revision, Phase: api.ClusterPending,
		Conditions: before.Conditions,
	}
	c := api.Condition{Type: ConditionConnected, Status: api.ConditionFalse, Reason: api.ReasonRegistrationPending,
		Message: "no operator has registered", Next: "tend clusters add " + object.Name +
			" prints what to apply in the cluster"}
	if access != nil && access.UID == object.Metadata.UID && access.Token != nil {
		next.RegisteredAt = access.RegisteredAt
		since := access.RegisteredAt
		if contact != nil && contact.UID == object.Metadata.UID && contact.At.After(since) {
			since = contact.At
		}
		next.Phase, c.Status, c.Reason, c.Message, c.Next = api.ClusterConnected, api.ConditionTrue,
			api.ReasonRoundTripOK, "", ""
		if deadline.Left(since.Add(ContactGrace), now, ContactGrace) == 0 {
			next.Phase, c.Status, c.Reason = api.ClusterDisconnected, api.ConditionFalse, api.ReasonNoRecentRoundTrip
			c.Message = fmt.Sprintf("its operator was heard of last at %s", since.UTC().Format(time.RFC3339))
			c.Next = "see that the operator runs and reaches this server; what is applied in the cluster goes on"
		}
	}
	ready := c
	ready.Type = api.ConditionReady
	degraded := api.Condition{Type: api.ConditionDegraded, Status: api.ConditionFalse, Reason: api.ReasonAsExpected}
	if next.Phase == api.ClusterDisconnected {
		degraded.Status, degraded.Reason, degraded.Message, degraded.Next = api.ConditionTrue, c.Reason, c.Message, c.Next
	}
	for _, condition := range []api.Condition{ready, degraded, c} {
		next.Conditions = api.SetCondition(next.Conditions, condition, now.UTC())
	}
	return next
}
