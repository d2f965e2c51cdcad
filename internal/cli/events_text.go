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
		return strings.TrimSuffix("joined: "+nodeText(d), ": ")
	case api.EventSilent, api.EventLost, api.EventReturned, api.EventFlapping:
		return cmp.Or(d.Message, string(action))
	case api.EventFinalized:
		return "all that was made for it is gone"
	case api.EventReconciled:
		if d.Message != "" {
			return phaseInWords(d.Phase) + ": " + d.Message
		}
		return strings.TrimSpace("as declared " + releaseText(d))
	case api.EventFailed:
		return strings.TrimSuffix("failed: "+cmp.Or(d.Message, inWords(d.Reason)), ": ")
	case api.EventStatusUpdated:
		if d.Kind == api.KindNode {
			return nodeText(d)
		}
		return statusText(d)
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
	if to := returnsTo(d); to != "" {
		parts = append(parts, "rollback to "+to)
	}
	changes := slices.DeleteFunc(slices.Clone(d.Changes), func(c api.EventChange) bool {
		return strings.HasPrefix(c.Path, "metadata.stamps.") // the verb says it
	})
	listed := min(len(changes), shown)
	for _, c := range changes[:listed] {
		parts = append(parts, fieldChange(specField(c.Path), c))
	}
	if more := len(changes) - listed + d.MoreChanges; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// fieldChange returns a text with the change of a field, as far as the event has its values.
func fieldChange(field string, c api.EventChange) string {
	switch {
	case c.Old != nil && c.New != nil:
		return field + " " + changedValue(c.Old, c.New)
	case c.New != nil:
		return field + " = " + plainValue(c.New)
	case c.Old != nil:
		return field + " gone (was " + plainValue(c.Old) + ")"
	}
	return field
}

// specField returns the name of a field of a spec as people declare it, or words for what lies beside the spec.
func specField(path string) string {
	switch path {
	case "metadata.deletedAt":
		return "deletion asked for"
	case "metadata.finalizers":
		return "what is to be cleaned up"
	case "metadata.owners":
		return "its owners"
	}
	for prefix, words := range map[string]string{"metadata.labels": "label", "metadata.annotations": "annotation"} {
		if key, ok := strings.CutPrefix(path, prefix); ok {
			return strings.TrimSuffix(words+" "+strings.TrimPrefix(key, "."), " ")
		}
	}
	return strings.TrimPrefix(path, "spec.")
}

// nodeText describes what a node reports of itself.
func nodeText(d api.EventData) string {
	var parts []string
	for _, c := range d.Changes {
		switch is := plainValue(c.New); {
		case c.Path != "ready":
			parts = append(parts, fieldChange(c.Path, c))
		case is == "true":
			parts = append(parts, "ready")
		default:
			parts = append(parts, strings.TrimSuffix("not ready: "+inWords(is), ": "))
		}
	}
	return strings.Join(parts, ", ")
}

// returnsTo returns the release that a rollback returns to; empty for other changes.
func returnsTo(d api.EventData) string {
	for _, c := range d.Changes {
		if c.Path == "metadata.stamps."+api.StampRollback && d.Verb == "rollback" && c.New != nil {
			return plainValue(c.New)
		}
	}
	return ""
}

// eventBy returns who asked for a change; the steps of controllers have no asker.
func eventBy(d api.EventData) string {
	if d.Actor == "" && d.Manager == "" {
		return ""
	}
	who := api.ActorName(d.Actor)
	who = cmp.Or(who, d.Manager)
	return strings.TrimSpace(d.Verb + " " + who)
}
