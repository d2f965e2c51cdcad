package cli

import (
	"strings"
	"time"

	"tend.dev/tend/api"
)

var labTable = table{
	header: []string{"PHASE", "OWNER", "STARTS", "ENDS", "STATE", "AGE"},
	wide:   []string{"NODE", "URL", "CLASS", "IMAGE", "MESSAGE"},
	narrow: narrowing{drop: []string{"AGE", "STARTS", "OWNER", "ENDS"}},
	row: func(object api.Object, now time.Time) (cells, wide []string) {
		spec, _ := api.DecodeSpec[api.LabSpec](object)
		status, _ := api.DecodeStatus[api.LabStatus](object)
		state, message := stateOf(object, api.WorkloadStatus{Conditions: status.Conditions})
		message, _, _ = strings.Cut(message, "\n")
		return []string{
			dash(string(status.Phase)), spec.Owner, labStarts(spec, status, now), labEnds(spec, status, now), state,
			age(object.Metadata.CreatedAt, now),
		}, []string{dash(status.Node), dash(status.AccessURL), dash(spec.Class), dash(status.Image), dash(message)}
	},
}

// labStarts returns in words when a lab begins, or began.
func labStarts(spec api.LabSpec, status api.LabStatus, now time.Time) string {
	switch start := spec.StartsAt(); {
	case !status.StartedAt.IsZero():
		return age(status.StartedAt, now) + " ago"
	case status.Phase.Ended():
		return "never"
	case start.After(now):
		return "in " + left(start, now)
	}
	return "now"
}

// labEnds returns in words when a lab ends, or ended.
func labEnds(spec api.LabSpec, status api.LabStatus, now time.Time) string {
	switch {
	case !status.CompletedAt.IsZero():
		return age(status.CompletedAt, now) + " ago"
	case status.EndsAt.IsZero():
		return (spec.Duration.Or(0) + status.Extended.Or(0)).String() + " later"
	case status.EndsAt.After(now):
		return "in " + left(status.EndsAt, now)
	}
	return "now"
}

// left returns how long it is until a time, as short as age.
func left(at, now time.Time) string { return age(now.Add(now.Sub(at)), now) }

// describeLab writes the head of a lab's description.
func describeLab(w plain, object api.Object, now time.Time) {
	spec, _ := api.DecodeSpec[api.LabSpec](object)
	status, _ := api.DecodeStatus[api.LabStatus](object)
	w.printf("%s  %s\n", object.Ref(), dash(string(status.Phase)))
	w.printf("  generation %d (observed %d), created %s ago\n", object.Metadata.Generation, status.ObservedGeneration,
		age(object.Metadata.CreatedAt, now))
	w.printf("  owner %s\n", spec.Owner)
	starts, ends := "starts", "ends"
	if !status.StartedAt.IsZero() {
		starts = "started"
	}
	if !status.CompletedAt.IsZero() {
		ends = "ended"
	}
	w.printf("  %s %s, %s %s, for %s", starts, labStarts(spec, status, now), ends,
		labEnds(spec, status, now), spec.Duration)
	if status.Extended != "" {
		w.printf(", extended by %s", status.Extended)
	}
	w.printf("\n")
	if status.ExitCode != nil {
		w.printf("  exit code %d\n", *status.ExitCode)
	}
	for _, line := range []struct{ name, value string }{
		{"class", spec.Class}, {"url", status.AccessURL}, {"node", status.Node}, {"image", status.Image},
	} {
		if line.value != "" {
			w.printf("  %s %s\n", line.name, line.value)
		}
	}
	if len(status.LastLog) > 0 {
		w.printf("  its last lines\n")
		w.indent("    | ", strings.Join(status.LastLog, "\n"))
	}
}
