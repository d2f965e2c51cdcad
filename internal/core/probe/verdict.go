package probe

import (
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// Verdict is the result of a running container's probes.
type Verdict struct {
	// Ready is set if the container is started up, alive and ready, as far as that is probed.
	Ready bool
	// Failed is set if the startup or liveness probe gives the container up.
	Failed bool
	// Reason is a CamelCase word for the problem, Message is for a person. Both are empty if Ready is set.
	Reason  string
	Message string
}

// Judge returns the verdict of the phases; a probe without one isn't declared.
func Judge(probes map[string]api.ProbeStatus) Verdict {
	if startup, ok := probes[string(Startup)]; ok {
		switch startup.Phase {
		case api.ProbeHealthy:
		case api.ProbeUnhealthy:
			return failed(api.ReasonStartupFailed, Startup, startup)
		case api.ProbeUnknown:
			return Verdict{Reason: api.ReasonStartupPending, Message: answer(Startup, startup)}
		}
	}
	if liveness := probes[string(Liveness)]; liveness.Phase == api.ProbeUnhealthy {
		return failed(api.ReasonLivenessFailed, Liveness, liveness)
	}
	readiness, ok := probes[string(Readiness)]
	if !ok || readiness.Phase == api.ProbeHealthy {
		return Verdict{Ready: true}
	}
	return Verdict{Reason: api.ReasonUnready, Message: answer(Readiness, readiness)}
}

func failed(reason string, kind Kind, status api.ProbeStatus) Verdict {
	return Verdict{Failed: true, Reason: reason, Message: answer(kind, status)}
}

// Step returns what to do about the answer of a probe; empty where the program's output says it.
func Step(answer string) string {
	switch {
	case strings.Contains(answer, ListensElsewhere):
		return "correct the probe's port, or let the program listen there"
	case strings.Contains(answer, " answered 404"):
		return "correct the probe's path, or let the program answer it"
	}
	return ""
}

// Starting begins the answer of a probe that has neither passed nor failed yet.
const Starting = "still starting; "

// answer returns what a probe that doesn't pass answered last. A container whose probe has neither passed nor failed
// yet is still starting.
func answer(kind Kind, status api.ProbeStatus) string {
	name := string(kind)
	if status.Source != "" {
		name += " (" + status.Source + ")"
	}
	if status.Message == "" {
		return "the " + name + " probe has not passed yet"
	}
	text := name + ": " + status.Message
	if status.Failures > 1 {
		text += fmt.Sprintf(" (%d times)", status.Failures)
	}
	if status.Phase == api.ProbeUnknown {
		text = Starting + text
	}
	return text
}
