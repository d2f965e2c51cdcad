package sink

import (
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	core "tend.dev/tend/internal/core/sink"
)

const (
	// failing is from which failed attempt on a sink's condition says so.
	failing = 3
	// gapShown is the time for which a condition says that events were skipped.
	gapShown = time.Hour
)

// status returns the status of a sink from its progress.
func status(o control.Observation, before api.SinkStatus, progress api.SinkProgress) api.SinkStatus {
	object, now := o.Object, o.Now
	next := api.SinkStatus{
		ObservedGeneration: object.Value.Metadata.Generation, ObservedRevision: object.Modified,
		Conditions: before.Conditions,
	}
	spec, err := api.DecodeSpec[api.SinkSpec](*object.Value)
	reason, message, step := api.ReasonDelivering, "", ""
	switch {
	case err != nil:
		reason, message = api.ReasonInvalidSpec, err.Error()
	case progress.Gone == object.Value.Metadata.Generation:
		reason, message = api.ReasonReceiverGone, "the receiver answered 410: it takes nothing any more"
		step = "change the sink's address and apply it, or: tend delete sink " + object.Value.Name
	case progress.Trying != nil && progress.Trying.Attempts >= failing:
		reason, message, step = api.ReasonSinkFailing, progress.LastError, "tend sinks test "+object.Value.Name
	case spec.Mail != nil && len(progress.Refusals) >= len(spec.Mail.To):
		reason, message, step = api.ReasonAddressRefused, refusalsText(progress.Refusals), nextAddress+object.Value.Name
	}
	next.Type, next.Receiver = spec.Type(), core.Receiver(spec)
	ready := api.Condition{Type: api.ConditionReady, Status: api.ConditionTrue, Reason: reason, Message: message,
		Next: step}
	degraded := api.Condition{Type: api.ConditionDegraded, Status: api.ConditionFalse, Reason: api.ReasonAsExpected}
	if reason != api.ReasonDelivering {
		ready.Status = api.ConditionFalse
		degraded = ready
		degraded.Type, degraded.Status = api.ConditionDegraded, api.ConditionTrue
	} else if len(progress.Refusals) > 0 {
		degraded.Status, degraded.Reason = api.ConditionTrue, api.ReasonAddressRefused
		degraded.Message, degraded.Next = refusalsText(progress.Refusals), nextAddress+object.Value.Name
	} else if gap := progress.Gap; gap != nil && now.Sub(gap.At) < gapShown {
		degraded.Status, degraded.Reason = api.ConditionTrue, api.ReasonEventsSkipped
		degraded.Message = fmt.Sprintf("the events from %s to %s were deleted from the log before they could be sent",
			gap.After, gap.Until)
		degraded.Next = "read the state of objects again where you keep a copy"
	}
	next.Conditions = api.SetCondition(api.SetCondition(next.Conditions, ready, now), degraded, now)
	return next
}

const nextAddress = "correct mail.to and apply the sink, or have the mail server take the address; then: tend sinks test "

// refusalsText names the addresses that get no mail, and how many messages were lost.
func refusalsText(refusals []api.SinkRefusal) string {
	var out []string
	for _, r := range refusals {
		messages := "1 message"
		if r.Lost > 1 {
			messages = fmt.Sprintf("%d messages", r.Lost)
		}
		out = append(out, fmt.Sprintf("%s to %s lost: %s", messages, r.Address, r.Error))
	}
	return strings.Join(out, "; ")
}
