package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// whatHappened says in a few words what an event is about.
func whatHappened(e api.Event, d api.EventData) string {
	switch action := actionOf(e, d); action {
	case api.EventUpdated:
		return cmp.Or(changedFields(d), d.Verb, "changed")
	case api.EventJoined:
		return strings.TrimSuffix("joined: "+changedFields(d), ": ")
	case api.EventSilent, api.EventLost, api.EventReturned, api.EventFlapping:
		return cmp.Or(d.Message, string(action))
	case api.EventFinalized:
		return "all that was made for it is gone"
	case api.EventReconciled:
		if d.Message != "" {
			return strings.ToLower(d.Phase) + ": " + d.Message
		}
		return strings.TrimSpace("as declared " + releaseText(d))
	case api.EventFailed:
		return strings.TrimSuffix("failed: "+cmp.Or(d.Message, inWords(d.Reason)), ": ")
	case api.EventStatusUpdated:
		return cmp.Or(statusText(d), "status changed")
	default:
		return string(action)
	}
}

func releaseText(d api.EventData) string {
	switch {
	case d.Release == "":
		return ""
	case d.OldRelease == "":
		return "(" + d.Release + ")"
	}
	return "(" + d.OldRelease + " → " + d.Release + ")"
}

// changedFields lists fields with their values as far as the event has them.
func changedFields(d api.EventData) string {
	const shown = 4
	var parts []string
	changes := slices.DeleteFunc(slices.Clone(d.Changes), func(c api.EventChange) bool {
		return strings.HasPrefix(c.Path, "metadata.stamps.") // the verb says it
	})
	for _, c := range changes[:min(len(changes), shown)] {
		path := strings.TrimPrefix(c.Path, "spec.")
		switch {
		case c.Old != nil && c.New != nil:
			path += " " + plainValue(c.Old) + " → " + plainValue(c.New)
		case c.New != nil:
			path += " = " + plainValue(c.New)
		case c.Old != nil:
			path += " gone (was " + plainValue(c.Old) + ")"
		}
		parts = append(parts, path)
	}
	if more := len(changes) - len(parts) + d.MoreChanges; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// eventBy returns who asked for a change; the steps of controllers have no asker.
func eventBy(d api.EventData) string {
	if d.Actor == "" && d.Manager == "" {
		return ""
	}
	who := api.ActorName(d.Actor)
	if who == "" {
		who = d.Manager
	}
	return strings.TrimSpace(d.Verb + " " + who)
}
