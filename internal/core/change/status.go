package change

import (
	"encoding/json"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
)

// The bounds of what an event says of conditions: how many, and how long a message, in bytes.
const (
	maxConditions = 6
	maxMessage    = 240
)

// inURL matches the password in a URL.
var inURL = pattern.Lazy(`(://[^/\s:@"]*:)[^/\s@"]+@`)

// line returns the first line of a message: what follows are lines of a log, which may have secrets.
func line(message string) string {
	first, _, _ := strings.Cut(message, "\n")
	return Cut(inURL().ReplaceAllString(first, "${1}***@"), maxMessage)
}

// status holds the fields that the statuses of kinds have in common; a kind may lack some.
type status struct {
	ObservedGeneration int64           `json:"observedGeneration"`
	Phase              string          `json:"phase"`
	Reason             string          `json:"reason"`
	Message            string          `json:"message"`
	LastRun            string          `json:"lastRun"`
	LastState          string          `json:"lastState"`
	Release            string          `json:"release"`
	Conditions         []api.Condition `json:"conditions"`
	Outcomes           map[string]struct {
		HelmRevision int64 `json:"helmRevision"`
	} `json:"outcomes"`
	Rollout struct {
		Phase         api.RolloutPhase `json:"phase"`
		TargetRelease string           `json:"targetRelease"`
		Reason        string           `json:"reason"`
		Message       string           `json:"message"`
		Healing       bool             `json:"healing"`
	} `json:"rollout"`
}

// phase returns the object's phase: its own, else its rollout's, else its last run's.
func (s status) phase() string {
	for _, phase := range []string{s.Phase, string(s.Rollout.Phase), s.LastState} {
		if phase != "" {
			return phase
		}
	}
	return ""
}

func (s status) release() string {
	if s.Rollout.TargetRelease != "" {
		return s.Rollout.TargetRelease
	}
	return s.Release
}

// Status returns the events of a write of the status of an object. An absent old is empty. The first event says what
// changed; an outcome follows where the write records one. One in which only texts differ makes none, nor one in which
// only counts of pods differ while the object stays failed. What can't be read as a status makes an event without
// details.
func Status(object api.Object, old, next json.RawMessage) []Event {
	if string(old) == string(next) {
		return nil
	}
	var before, after status
	// The status of another version may have other types: what can be read of it counts.
	_ = json.Unmarshal(old, &before)
	_ = json.Unmarshal(next, &after)
	data := About(object)
	data.ObservedGeneration, data.Phase, data.Release = after.ObservedGeneration, after.phase(), after.release()
	data.Healing, data.HelmRevision = after.Rollout.Healing, after.Outcomes[after.release()].HelmRevision
	if before.phase() != data.Phase {
		data.OldPhase = before.phase()
	}
	if before.release() != data.Release {
		data.OldRelease = before.release()
	}
	if data.Lab != nil {
		var lab api.LabStatus
		_ = json.Unmarshal(next, &lab)
		data.Lab.EndsAt, data.Lab.AccessURL, data.Lab.ExitCode = lab.EndsAt, Cut(lab.AccessURL, maxMessage), lab.ExitCode
	}
	data.Conditions = conditions(before.Conditions, after.Conditions)
	ends := outcomes(data, before, after)
	found := &leaves{shows: statusShows, skip: "status.conditions"}
	if object.Kind.Info().Private {
		found.shows = nothing
	}
	found.compare("status", old, next)
	stuck := after.staysFailed(before)
	isNews := func(c api.EventChange) bool { return isState(c) && !(stuck && isCount(c)) }
	if len(data.Conditions)+len(ends) == 0 && !slices.ContainsFunc(found.found, isNews) {
		return nil // the same, in other words
	}
	data.Changes, data.MoreChanges = found.list()
	return append([]Event{{api.EventStatusUpdated, data}}, ends...)
}

// isState reports whether a changed field is more than a text that explains the others.
func isState(c api.EventChange) bool {
	switch c.Path[strings.LastIndex(c.Path, ".")+1:] {
	case "message", "next", "lastLog":
		return false
	}
	return true
}

// isCount reports whether a changed field counts pods. In a crash loop these change at every turn.
func isCount(c api.EventChange) bool {
	switch c.Path {
	case "status.replicas", "status.running", "status.ready", "status.updated":
		return true
	}
	return false
}

// staysFailed reports whether a status had failed before, for the same reason and with the same release.
func (s status) staysFailed(before status) bool {
	reason, _, failed := s.failure()
	was, _, failedBefore := before.failure()
	return failed && failedBefore && reason == was && s.release() == before.release()
}

func statusShows(path string) bool {
	name := path[strings.LastIndex(path, ".")+1:]
	return statusPublic[name]
}

// conditions returns those that changed their status or reason, and those that are gone.
func conditions(old, next []api.Condition) []api.EventCondition {
	var out []api.EventCondition
	for _, c := range next {
		was := api.FindCondition(old, c.Type)
		if was != nil && was.Status == c.Status && was.Reason == c.Reason {
			continue
		}
		changed := api.EventCondition{Type: Cut(c.Type, maxPath), Status: c.Status, Reason: Cut(c.Reason, maxPath),
			Message: line(c.Message)}
		if was != nil && was.Status != c.Status {
			changed.OldStatus = was.Status
		}
		out = append(out, changed)
	}
	for _, c := range old {
		if api.FindCondition(next, c.Type) == nil {
			out = append(out, api.EventCondition{Type: Cut(c.Type, maxPath), OldStatus: c.Status, Status: api.ConditionUnknown})
		}
	}
	return out[:min(len(out), maxConditions)]
}
