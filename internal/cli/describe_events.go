package cli

import (
	"context"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// newestEvents returns a few events of an object.
func newestEvents(ctx context.Context, c *client.Client, ref api.Ref) []api.Event {
	const newest, read = 8, 50
	list := func(types ...string) []api.Event {
		page, _ := c.ListEvents(ctx, client.EventOptions{
			Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Types: types, Last: true, Limit: read,
		})
		return page.Events // what can't be had is left out
	}
	events := withoutRepeats(list())
	events = events[max(0, len(events)-newest):]
	applies := func(e api.Event) bool { return eventData(e).Verb == "apply" }
	if slices.ContainsFunc(events, applies) {
		return events
	}
	writes := list(string(api.EventCreated), string(api.EventUpdated))
	slices.Reverse(writes)
	if last := slices.IndexFunc(writes, applies); last >= 0 {
		events = slices.Insert(events, 0, writes[last])
	}
	return events
}

// withoutRepeats removes the events that only count pods where another such one follows.
func withoutRepeats(events []api.Event) (out []api.Event) {
	for i, e := range events {
		if i+1 == len(events) || !onlyCounts(e) || !onlyCounts(events[i+1]) {
			out = append(out, e)
		}
	}
	return out
}

// briefEvents lists events of one object.
func briefEvents(events []api.Event, now time.Time) listing {
	l := listing{
		header: []string{"AGE", "WHAT", "BY"},
		narrow: narrowing{from: map[string]int{"BY": 70}, cut: []string{"WHAT"}},
	}
	for _, e := range events {
		d := eventData(e)
		l.rows = append(l.rows, []string{age(e.Time, now), dash(shortened(whatHappened(e, d), 80)), dash(eventBy(d))})
	}
	return l
}
