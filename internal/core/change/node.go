package change

import (
	"encoding/json"
	"fmt"
	"time"

	"tend.dev/tend/api"
)

// Node returns the events of what changes of a node. A nil old means that it is a new one, a nil next that it is gone.
func Node(name string, old, next *api.NodeState) []Event {
	data := api.EventData{Kind: api.KindNode, Scope: api.Unscoped, Name: name}
	switch {
	case old == nil && next == nil:
		return nil
	case old == nil:
		data.Phase, data.Changes = next.State, nodeFields(api.NodeState{}, *next)
		return []Event{{api.EventJoined, data}}
	case next == nil:
		data.Phase = old.State
		return []Event{{api.EventRemoved, data}}
	}
	var out []Event
	data.Phase = next.State
	if next.State != old.State {
		moved := data
		moved.OldPhase = old.State
		switch next.State {
		case api.NodeLost:
			moved.Reason, moved.Message = api.ReasonNodeLost, "it does not answer"
			out = append(out, Event{api.EventLost, moved})
		case api.NodeSilent:
			moved.Message = "no server hears it: if that stays so, it is lost"
			out = append(out, Event{api.EventSilent, moved})
		default:
			moved.Message = fmt.Sprintf("it was %s for %s", old.State, next.ChangedAt.Sub(old.ChangedAt).Round(time.Second))
			out = append(out, Event{api.EventReturned, moved})
		}
	}
	if old.Until.IsZero() && !next.Until.IsZero() {
		flaps := data
		flaps.Message = fmt.Sprintf("it was lost %d times within an hour, and gets no pods until %s", next.Losses,
			next.Until.UTC().Format(time.RFC3339))
		out = append(out, Event{api.EventFlapping, flaps})
	}
	if data.Changes = nodeFields(*old, *next); len(data.Changes) > 0 {
		out = append(out, Event{api.EventStatusUpdated, data})
	}
	return out
}

// nodeFields compares what nodes say of themselves.
func nodeFields(old, next api.NodeState) (out []api.EventChange) {
	address := func(s api.NodeState) string {
		if !s.Address.IsValid() {
			return ""
		}
		return s.Address.String()
	}
	ready := func(s api.NodeState) string {
		switch {
		case s.State == "":
			return ""
		case s.Ready:
			return "true"
		}
		return s.Reason
	}
	for _, field := range []struct{ path, was, is string }{
		{"address", address(old), address(next)}, {"ready", ready(old), ready(next)}, {"version", old.Version, next.Version},
	} {
		if field.was == field.is {
			continue
		}
		change := api.EventChange{Path: field.path}
		for value, to := range map[string]*json.RawMessage{field.was: &change.Old, field.is: &change.New} {
			if value != "" {
				*to = text(Cut(value, maxPath))
			}
		}
		out = append(out, change)
	}
	return out
}
