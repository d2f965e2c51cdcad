package probe

import (
	"time"

	"tend.dev/tend/api"
)

// Carry returns the state of a container's probes at an inspection: last if the incarnation is the same; else every
// phase is unknown, since at. The count of transitions continues over the task's life. If the declaration is unknown
// (nil), the probes are those that have a phase.
func Carry(p *api.Probes, last map[string]api.ProbeStatus, same bool, at time.Time) map[string]api.ProbeStatus {
	var out map[string]api.ProbeStatus
	for _, kind := range kinds {
		status, known := last[string(kind)]
		if p == nil && !known || p != nil && declared(*p, kind) == nil {
			continue
		}
		if out == nil {
			out = map[string]api.ProbeStatus{}
		}
		switch {
		case !known:
			status = api.ProbeStatus{Phase: api.ProbeUnknown, Since: at}
		case !same:
			status = turn(status, api.ProbeUnknown, at)
			status.Message, status.Failures = "", 0
		}
		out[string(kind)] = status
	}
	return out
}

// turn moves a status to a phase; a status that is already in it doesn't change.
func turn(s api.ProbeStatus, phase api.ProbePhase, at time.Time) api.ProbeStatus {
	if s.Phase == phase {
		return s
	}
	if s.Phase != api.ProbeUnknown {
		s.Before = s.Phase
	}
	s.Phase, s.Since = phase, at
	s.Transition++
	return s
}
