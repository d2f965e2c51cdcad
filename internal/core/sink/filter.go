package sink

import (
	"encoding/json"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/notify"
)

// Wants reports whether a sink, of which self is the uid, is sent an event. A nil filter chooses all. Events of the
// sink's own status are never chosen: each event that is sent changes it, and would make the next.
func Wants(f *api.SinkFilter, self string, e api.Event, d api.EventData) bool {
	if d.UID != "" && d.UID == self {
		switch Action(e, d) {
		case api.EventStatusUpdated, api.EventReconciled, api.EventFailed:
			return false
		}
	}
	if f == nil {
		return true
	}
	return (!f.Failures || Action(e, d) == api.EventFailed) &&
		(anyOf(f.Types, e.Type) || anyOf(f.Types, api.EventTypeByKind(e.Type))) && about(f, d)
}

func about(f *api.SinkFilter, d api.EventData) bool {
	return anyOf(f.Kinds, string(d.Kind)) && anyOf(f.Scopes, d.Scope) && anyOf(f.Names, d.Name)
}

// Action returns what an event says happened; empty for one that is not about an object.
func Action(e api.Event, d api.EventData) api.EventAction {
	for _, action := range api.EventActions {
		if e.Type == api.EventType(d.Kind, action) {
			return action
		}
	}
	return ""
}

// DataOf decodes the data of an event about an object; zero for any other.
func DataOf(e api.Event) (d api.EventData) {
	if json.Unmarshal(e.Data, &d) != nil {
		return api.EventData{}
	}
	return d
}

// SignalOf returns what an event means for people, if the filter chooses its object. A sink is not asked to send
// messages about itself.
func SignalOf(f *api.SinkFilter, self string, e api.Event) (s notify.Signal, ok bool) {
	d := DataOf(e)
	if d.UID == "" || d.UID == self || f != nil && !about(f, d) {
		return s, false
	}
	s = notify.Signal{At: e.Time, Cause: api.SinkCause{UID: d.UID, Kind: d.Kind, Scope: d.Scope, Name: d.Name,
		ID: e.ID, Since: e.Time}}
	switch Action(e, d) {
	case api.EventFailed:
		if notify.AskedFor(d.Kind, d.Reason) {
			return s, false
		}
		s.Cause.Reason, s.Cause.Message, s.Cause.Release = d.Reason, d.Message, d.Release
	case api.EventReconciled:
		s.What = notify.Recovered
	case api.EventDeleted, api.EventFinalized:
		s.What = notify.Removed
	default:
		return s, false
	}
	return s, true
}

// anyOf reports whether text fits one of the patterns, or there is none.
func anyOf(patterns []string, text string) bool {
	for _, pattern := range patterns {
		if api.FitsPattern(pattern, text) {
			return true
		}
	}
	return len(patterns) == 0
}
