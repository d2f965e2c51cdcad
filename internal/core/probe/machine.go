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
	// StartedAt is the start time of the incarnation.
	StartedAt time.Time
	// Grace is the time after its start in which failures of the readiness probe don't count, unless it has passed
	// before.
	Grace time.Duration
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
	// passes and fails count answers in a row that count; failures counts all that failed in a row.
	passes, fails, failures int
	messageAt               time.Time // the last change of the message

	begin   time.Time // the earliest first attempt; later for probes that the startup probe holds back
	lenient time.Time // until when failures don't count
	spread  float64
	asks    int           // number of attempts
	last    time.Time     // when the last attempt was due
	counted time.Time     // when the last attempt was due that passed, or could count as a failure
	eager   bool          // it is asked at short intervals until it has passed
	gap     time.Duration // the next of these intervals
	placed  bool          // the second attempt after those was made at its place in the period
	away    bool          // an attempt is under way
	early   bool          // … that came before its period was over
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
	// Message is the reason why it failed.
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
		one := &asked{kind: kind, probe: *probe, rule: ruleOf(*probe), status: status, gap: firstGap}
		one.begin = o.StartedAt.Add(one.rule.delay)
		one.eager = kind != Liveness && status.Phase != api.ProbeHealthy
		if kind == Readiness {
			one.lenient = o.StartedAt.Add(o.Grace)
		}
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
	if a.eager {
		a.last = now // the next attempt follows the answer: one that takes long isn't repeated at once
	}
	switch {
	case result.Void:
		return false
	case result.Pass:
		a.counted = a.last
		return a.pass(now)
	}
	return a.fail(result.Message, early || a.eager && now.Before(a.lenient), now)
}

func (a *asked) pass(now time.Time) bool {
	a.fails, a.failures, a.passes, a.eager = 0, 0, min(a.passes+1, a.rule.passes), false
	if a.passes < a.rule.passes || a.status.Phase == api.ProbeHealthy {
		return false
	}
	a.status = turn(a.status, api.ProbeHealthy, now)
	a.status.Message, a.status.Failures = "", 0
	return true
}

// fail records a failure; one that comes early is recorded and doesn't count.
func (a *asked) fail(message string, early bool, now time.Time) bool {
	a.failures++
	if !early {
		a.passes, a.fails = 0, min(a.fails+1, a.rule.fails)
	}
	turned := a.status
	if a.fails >= a.rule.fails {
		turned = turn(a.status, api.ProbeUnhealthy, now)
	}
	if turned.Phase == api.ProbeHealthy || turned.Phase == api.ProbeUnknown && a.kind == Liveness {
		return false // it holds nothing back, and may be the only one
	}
	first := a.status.Message == "" || turned.Phase != a.status.Phase
	if !first && !(a.eager && telling(a.failures)) &&
		(message == a.status.Message || now.Sub(a.messageAt) < messageInterval) {
		return false
	}
	a.status = turned
	a.status.Message, a.status.Failures, a.messageAt = message, a.failures, now
	return true
}

// telling reports whether so many failures in a row, of a probe that has not passed yet, are worth a write: 3, 10, 30,
// 100, …
func telling(failures int) bool {
	for n := 1; n <= failures; n *= 10 {
		if failures == n || failures == 3*n {
			return true
		}
	}
	return false
}
