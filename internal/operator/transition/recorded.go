package transition

import (
	"context"
	"fmt"
	"slices"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/identity"
)

// recorded holds the stored Events of one object. They are read when they are needed, once. Nil is valid: it holds
// nothing.
//
// A condition may return to a reason within the second of its transition, or without a change of its status. The Event
// of the second time then has the name of the first. So an Event that exists proves nothing, unless it is the newest of
// its condition: each transition leads from another reason, which has an Event of its own.
type recorded struct {
	live   client.Reader
	read   bool
	events []eventsv1.Event
}

// has reports whether a transition has an Event, not counting transitions that came later.
func (s *recorded) has(ctx context.Context, event *eventsv1.Event) (bool, error) {
	if !s.read {
		list, uid := &eventsv1.EventList{}, string(event.Regarding.UID)
		err := s.live.List(ctx, list, client.InNamespace(event.Namespace), client.MatchingFields{"regarding.uid": uid})
		if err != nil {
			return false, fmt.Errorf("list the Events of %s: %w", event.Regarding.Name, err)
		}
		s.read, s.events = true, list.Items
	}
	var newest *eventsv1.Event
	for i := range s.events {
		one := &s.events[i]
		if one.Name == event.Name && one.Labels[identity.LabelCondition] == "" {
			return true, nil // an older operator wrote it, and it can't be compared
		}
		if isSameCondition(one, event) && !event.EventTime.Before(last(one)) &&
			(newest == nil || last(newest).Before(last(one))) {
			newest = one
		}
	}
	return newest != nil && newest.Name == event.Name, nil
}

// put adds an Event that was written, or replaces it.
func (s *recorded) put(event *eventsv1.Event) {
	if s == nil || !s.read {
		return
	}
	s.events = slices.DeleteFunc(s.events, func(one eventsv1.Event) bool { return one.Name == event.Name })
	s.events = append(s.events, *event)
}

// isSameCondition reports whether two Events of an object are about the same condition.
func isSameCondition(a, b *eventsv1.Event) bool {
	return a.Labels[identity.LabelCondition] == b.Labels[identity.LabelCondition]
}
