package cli

import (
	"slices"
	"strings"
	"unicode"

	"tend.dev/tend/api"
)

// statusText says in words what changed of a status: its release and phase, its conditions, else its fields. It is
// never empty.
func statusText(d api.EventData) string {
	var parts []string
	add := func(text string) {
		if text != "" && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	if d.OldRelease != "" {
		add(d.OldRelease + " → " + d.Release)
	}
	if entersPhase(d) || d.OldRelease != "" && d.Kind.HasSlots() {
		add(rolloutText(d))
	}
	for _, c := range byWeight(d.Conditions) {
		add(conditionText(c, d))
	}
	if len(parts) > 0 {
		return strings.Join(parts, ", ")
	}
	return statusFields(d)
}

// entersPhase reports whether the phase of an event is another than before, or the first.
func entersPhase(d api.EventData) bool {
	return d.OldPhase != "" || slices.ContainsFunc(d.Changes, func(c api.EventChange) bool {
		return slices.Contains([]string{"status.phase", "status.rollout.phase", "status.lastState"}, c.Path) && c.Old == nil
	})
}

// onlyCounts reports whether an event says no more than how far something is.
func onlyCounts(e api.Event) bool {
	d := eventData(e)
	return actionOf(e, d) == api.EventStatusUpdated && len(d.Conditions) == 0 && d.OldRelease == "" && !entersPhase(d)
}

// rolloutText describes the progress of a rollout, a run or a lab.
func rolloutText(d api.EventData) string {
	phase := phaseInWords(d.Phase)
	if !d.Kind.HasSlots() {
		return phase
	}
	if text := healingText(d); text != "" {
		return text
	}
	switch api.RolloutPhase(d.Phase) {
	case api.RolloutProgressing:
		return "rollout begins"
	case api.RolloutRollingBack:
		return "rolling back"
	case api.RolloutRolledBack:
		return "rolled back"
	}
	return "rollout " + phase
}

// healingText describes what became of pods that nobody asked to change; empty where a rollout says it.
func healingText(d api.EventData) string {
	switch {
	case !d.Healing:
		return ""
	case d.Phase == string(api.RolloutComplete):
		return "all pods ready again"
	case d.Phase != string(api.RolloutProgressing):
		return ""
	}
	for _, c := range d.Conditions {
		if _, why, found := strings.Cut(c.Message, ": "); c.Type == api.ConditionProgressing && found {
			return "being healed: " + why
		}
	}
	return "a pod is being healed"
}

// byWeight orders conditions as people ask for them: what is wrong, then whether it is ready, then the rest.
func byWeight(conditions []api.EventCondition) []api.EventCondition {
	order := []string{api.ConditionDegraded, api.ConditionReady}
	weight := func(c api.EventCondition) int {
		if at := slices.Index(order, c.Type); at >= 0 {
			return at
		}
		return len(order)
	}
	return slices.SortedStableFunc(slices.Values(conditions),
		func(x, y api.EventCondition) int { return weight(x) - weight(y) })
}

// conditionText says a condition in words; empty if another part of the event says it.
func conditionText(c api.EventCondition, d api.EventData) string {
	holds, why := c.Status == api.ConditionTrue, inWords(c.Reason)
	if c.OldStatus == "" && c.Status == api.ConditionFalse &&
		(slices.Contains(passing, c.Type) || c.Type == api.ConditionProgressing && c.Reason == "Complete") {
		return "" // a new object has none of that yet
	}
	switch c.Type {
	case api.ConditionDegraded:
		switch {
		case holds:
			return "degraded: " + why
		case c.OldStatus == api.ConditionTrue:
			return "recovered"
		}
		return ""
	case api.ConditionReady:
		switch {
		case holds:
			return "ready"
		case degradedFor(d, c.Reason):
			return ""
		case c.Reason == "Progressing":
			return "not ready"
		}
		return "not ready: " + why
	case api.ConditionProgressing:
		said := slices.ContainsFunc(d.Conditions, func(other api.EventCondition) bool { // with what it is not ready for
			return other.Type == api.ConditionReady && other.Status != api.ConditionTrue && other.Reason == c.Reason
		})
		switch {
		case said, entersPhase(d), degradedFor(d, c.Reason):
			return "" // another part says it
		case c.Reason == "Complete":
			return "nothing is under way"
		case c.Reason == "Progressing":
			return "going on"
		}
		return why
	}
	if text, known := conditionWords[c.Type][c.Status]; known {
		return text
	}
	text := inWords(c.Type)
	switch c.Status {
	case api.ConditionFalse:
		text = "not " + text
	case api.ConditionUnknown:
		text += " unknown"
	}
	return strings.TrimSuffix(text+": "+why, ": ")
}

// passing are the conditions that hold for a while; once they do no longer, that is said.
var passing = []string{"Active", "Missed", "ClockBehind"}

// conditionWords are the sentences for the conditions whose name and status are none.
var conditionWords = map[string]map[api.ConditionStatus]string{
	"Active": {api.ConditionTrue: "a run is under way", api.ConditionFalse: "no run is under way"},
	"Missed": {api.ConditionTrue: "runs were missed", api.ConditionFalse: "no run was missed"},
	"ClockBehind": {api.ConditionTrue: "the clock is behind the last run: no run begins until it has passed that",
		api.ConditionFalse: "the clock is right again"},
	api.ConditionAfterRollout: {api.ConditionTrue: "the commands after the rollout succeeded",
		api.ConditionFalse: "a command after the rollout failed", api.ConditionUnknown: "commands follow the rollout"},
}

// phaseInWords returns a phase in words, from RUNNING, rolling_back or RollingBack.
func phaseInWords(phase string) string {
	if strings.ToUpper(phase) == phase {
		phase = strings.ToLower(phase)
	}
	return strings.ReplaceAll(inWords(phase), "_", " ")
}

// degradedFor reports whether an event says already that its object is degraded for a reason.
func degradedFor(d api.EventData, reason string) bool {
	return slices.ContainsFunc(d.Conditions, func(c api.EventCondition) bool {
		return c.Type == api.ConditionDegraded && c.Status == api.ConditionTrue && c.Reason == reason
	})
}

// inWords returns a CamelCase word as words: CrashLoop is crash loop, and OOMKilled is OOM killed.
func inWords(camel string) string {
	letters := []rune(camel)
	var out strings.Builder
	for i, r := range letters {
		begins := unicode.IsUpper(r) && i > 0 &&
			(unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if begins {
			out.WriteByte(' ')
		}
		acronym := unicode.IsUpper(r) &&
			(i+1 < len(letters) && unicode.IsUpper(letters[i+1]) || i > 0 && unicode.IsUpper(letters[i-1]) && !begins)
		if !acronym {
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
	}
	return out.String()
}
