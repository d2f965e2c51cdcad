package notify

import (
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/deadline"
)

// Message is one message to people. Failed are causes that fail, or failed and are resolved already; Resolved those of
// which an earlier message said that they fail; More counts failures that are not listed.
type Message struct {
	// ID is the same for the same message after a crash.
	ID               string
	Failed, Resolved []api.SinkCause
	More             int
	// Test names the sink that the message is a test of: nothing failed, and what it lists is an example.
	Test string
}

// Due returns when there is a message to send; zero if nothing waits.
func Due(known api.SinkCauses, set Settings) time.Time {
	var due time.Time
	sooner := func(at time.Time) {
		if due.IsZero() || at.Before(due) {
			due = at
		}
	}
	for _, c := range known.Open {
		if !c.WaitingSince.IsZero() {
			sooner(later(c.WaitingSince.Add(set.Gather), heldUntil(c, set)))
		}
	}
	if known.More > 0 {
		sooner(known.MoreSince.Add(set.Gather))
	}
	if due.IsZero() || known.MessageAt.IsZero() {
		return due
	}
	return later(due, known.MessageAt.Add(set.Pause))
}

// heldUntil returns until when no message may say once more that the cause fails.
func heldUntil(c api.SinkCause, set Settings) time.Time {
	if c.MessageAt.IsZero() || !failureWaits(c) {
		return time.Time{}
	}
	return c.MessageAt.Add(set.Quiet)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Next returns the message to send now. Once one is due, everything that waits and may be said is part of it.
func Next(known api.SinkCauses, set Settings, now time.Time) (Message, bool) {
	if due := Due(known, set); due.IsZero() || deadline.Left(due, now, max(set.Gather, set.Pause, set.Quiet)) > 0 {
		return Message{}, false
	}
	m := Message{More: known.More}
	for _, c := range known.Open {
		switch {
		case c.WaitingSince.IsZero() || deadline.Left(heldUntil(c, set), now, set.Quiet) > 0:
		case c.Recovery:
			m.Resolved = append(m.Resolved, c)
		default:
			m.Failed = append(m.Failed, c)
		}
	}
	all := slices.Concat(m.Failed, m.Resolved)
	first := "more-" + known.MoreSince.UTC().Format(time.RFC3339Nano)
	if len(all) > 0 {
		first = all[0].ID
	}
	m.ID = fmt.Sprintf("%s-%d-%d", first, len(all), m.More)
	return m, true
}

// Sent returns the causes after a message was sent, or was given up.
func Sent(known api.SinkCauses, m Message, now time.Time) api.SinkCauses {
	known.Open = slices.Clone(known.Open)
	part := func(list []api.SinkCause, c api.SinkCause) bool {
		return slices.ContainsFunc(list, func(o api.SinkCause) bool { return o.UID == c.UID && o.Reason == c.Reason })
	}
	for i, c := range known.Open {
		failed, recovered := part(m.Failed, c), part(m.Resolved, c)
		if !failed && !recovered {
			continue
		}
		c.WaitingSince, c.Recovery = time.Time{}, false
		c.Announced = !c.ResolvedAt.IsZero()
		if failed {
			c.MessageAt = now
		}
		known.Open[i] = c
	}
	known.MessageAt = now
	if known.More -= m.More; known.More > 0 && m.More > 0 {
		known.MoreSince = now // the others came while it was sent
	} else if known.More <= 0 {
		known.More, known.MoreSince = 0, time.Time{}
	}
	return known
}
