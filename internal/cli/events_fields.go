package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// fieldWords are the words for fields of a status. The others have names that are words.
var fieldWords = map[string]string{
	"replicas": "wanted pods", "running": "running pods", "ready": "ready pods", "updated": "updated pods",
	"frozen": "stopped pods", "unknown": "pods on silent nodes", "staying": "pods that should leave their node",
	"active": "runs under way", "succeeded": "runs that succeeded", "failed": "runs that failed", "missed": "missed runs",
	"lastExitCode": "exit code of the last run", "lastState": "last run", "lastRun": "last run", "nextRun": "next run",
	"accessUrl": "URL", "url": "URL", "tls": "TLS", "imageID": "image",
	"readyPods": "pods that get requests", "traffic": "what becomes of requests", "service": "workload that serves",
	"fetched": "revision of the source", "revision": "applied revision", "objects": "objects", "more": "further changes",
	"objectCount": "objects in the cluster", "health": "health in the cluster",
	"endpoints":   "addresses in the cluster",
	"differences": "differences in the cluster", "delivery": "delivery to the cluster", "contact": "contact with the cluster",
}

// recorded are the fields that Tend notes for itself, with what such a change means to people. An event names none of
// them where another field changed too.
var recorded = map[string]string{
	"observedGeneration": "the change was seen", "observedRevision": "the change was seen",
	"notified": "the outcome of the release was recorded", "outcomes": "the outcome of the release was recorded",
	"unhealthy": "a probe's result was recorded", "lastReleaseNumber": "a release was numbered",
	"scheduleHash": "the schedule was seen", "lastScheduled": "the schedule was followed",
	"lastAhead": "the schedule was followed", "skipped": "the schedule was followed",
	"restoredAt": "the schedule was followed", "restoredOver": "the schedule was followed",
	"restoredEarlier": "the schedule was followed", "rollout": "the rollout goes on",
}

// statusFields describes the fields of a status that changed.
func statusFields(d api.EventData) string {
	const shown = 4
	var parts []string
	note := ""
	for _, c := range d.Changes {
		path := strings.TrimPrefix(c.Path, "status.")
		first, rest, _ := strings.Cut(path, ".")
		if text, own := recorded[first]; own {
			note = cmp.Or(note, text)
			continue
		}
		if rest != "" { // of a part, its name alone is said
			c = api.EventChange{}
		}
		name, _, _ := strings.Cut(first, "[")
		text := fieldChange(cmp.Or(fieldWords[name], inWords(name)), c)
		if !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	if more := len(parts) - shown + d.MoreChanges; more > 0 {
		parts = append(parts[:min(shown, len(parts))], fmt.Sprintf("%d more", more))
	}
	return cmp.Or(strings.Join(parts, ", "), note, "as before")
}
