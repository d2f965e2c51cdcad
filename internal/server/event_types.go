package server

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/suggest"
)

// checkEventTypes refuses an unknown type, for which a reader would wait for ever. A type may lack the part before a
// dot, as in failed.
func checkEventTypes(asked []string) error {
	known := eventTypes()
	for _, t := range asked {
		if !slices.ContainsFunc(known, func(k string) bool { return k == t || strings.HasSuffix(k, "."+t) }) {
			return badRequest("name an action, such as updated or reconciliation.failed, or KIND.ACTION (see docs/use/events.md)",
				"no event has the type %q%s", t, suggest.Behind(suggest.Nearest(t, known)))
		}
	}
	return nil
}

// eventTypes returns the types of all events, preceded by the actions alone, which are the closer suggestions.
func eventTypes() []string {
	var actions, types []string
	for _, action := range api.EventActions {
		actions = append(actions, string(action))
		for _, kind := range append(api.KindsThat(api.Kind.Stored), api.KindNode) {
			types = append(types, api.EventType(kind, action), string(kind)+"."+string(action))
		}
	}
	return append(append(actions, api.AuditType), types...)
}
