package probe

import (
	"time"

	"tend.dev/tend/api"
)

// messageInterval is the least time between two changes of the message of a probe that goes on failing: its message may
// differ each time, and each change would be a write.
const messageInterval = 30 * time.Second

// Machine holds the probes of one incarnation of a container. It isn't safe for concurrent use.
type Machine struct {
	probes []*asked // in the order of kinds
}

// Options are the options of a Machine.
type Options struct {
	Probes api.Probes
	// Status is the known state, as Carry returns it.
	Status map[string]api.ProbeStatus
	// StartedAt is when the incarnation started.
	StartedAt time.Time
	// Spread places probes within their periods: 0 to below 1, a different one each call. Nil puts all at their
	// beginning.
	Spread func() float64
}

// asked is one probe.
type asked struct {
	kind   Kind
	probe  api.Probe
	rule   rule
	status api.ProbeStatus
	// passes and fails count answers in a row.
	passes, fails int
	messageAt     time.Time // the last change of the message

	begin  time.Time // the earliest first attempt; later for probes that the startup probe holds back
	spread float64
	asks   int       // number of attempts
	last   time.Time // when the last attempt was due
	away   bool      // an attempt is under way
	early  bool      // … that came before its period was over
}

// Ask is an attempt to make now.
type Ask struct {
	Kind    Kind
	Probe   api.Probe
	Timeout time.Duration
}

// Result is the result of an attempt.
type Result struct {
	// Void is set if nothing was learned about the container (the engine didn't answer); it counts neither way.
	Void bool
	Pass bool
	// Message says why it failed.
	Message string
}

// New returns a machine.
func New(o Options) *Machine {
	m := &Machine{}
	for _, kind := range kinds {
		probe := declared(o.Probes, kind)
		if probe == nil {
			continue
		}
		status, known := o.Status[string(kind)]
		if !known {
			status = api.ProbeStatus{Phase: api.ProbeUnknown, Since: o.StartedAt}
		}
		one := &asked{kind: kind, probe: *probe, rule: ruleOf(*probe), status: status}
		one.begin = o.StartedAt.Add(one.rule.delay)
		if o.Spread != nil {
			one.spread = o.Spread()
		}
		m.probes = append(m.probes, one)
	}
	return m
}

// Status returns the phases by kind; nil if nothing is declared.
func (m *Machine) Status() map[string]api.ProbeStatus {
	if len(m.probes) == 0 {
		return nil
	}
	out := make(map[string]api.ProbeStatus, len(m.probes))
	for _, one := range m.probes {
		out[string(one.kind)] = one.status
	}
	return out
}

// Answer records the result of an attempt and reports whether Status changed.
func (m *Machine) Answer(kind Kind, result Result, now time.Time) (changed bool) {
	for _, one := range m.probes {
		if one.kind != kind {
			continue
		}
		changed = one.answer(result, now)
		if changed && kind == Startup && one.status.Phase == api.ProbeHealthy {
			m.release(now)
		}
	}
	return changed
}

// release starts the probes that the startup probe held back.
func (m *Machine) release(now time.Time) {
	for _, one := range m.probes {
		if one.kind != Startup && one.begin.Before(now) {
			one.begin = now
		}
	}
}

func (a *asked) answer(result Result, now time.Time) (changed bool) {
	early := a.early
	a.away, a.early = false, false
	switch {
	case result.Void:
		return false
	case result.Pass:
		return a.pass(now)
	case early:
		return false
	}
	return a.fail(result.Message, now)
}

func (a *asked) pass(now time.Time) bool {
	a.fails, a.passes = 0, min(a.passes+1, a.rule.passes)
	if a.passes < a.rule.passes || a.status.Phase == api.ProbeHealthy {
		return false
	}
	a.status = turn(a.status, api.ProbeHealthy, now)
	a.status.Message = ""
	return true
}

func (a *asked) fail(message string, now time.Time) bool {
	a.passes, a.fails = 0, min(a.fails+1, a.rule.fails)
	if a.fails < a.rule.fails {
		return false
	}
	turned := turn(a.status, api.ProbeUnhealthy, now)
	messageDue := message != a.status.Message && now.Sub(a.messageAt) >= messageInterval
	if turned.Phase == a.status.Phase && !messageDue {
		return false
	}
	a.status = turned
	a.status.Message, a.messageAt = message, now
	return true
}
