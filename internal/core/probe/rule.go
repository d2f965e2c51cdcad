package probe

import (
	"time"

	"tend.dev/tend/api"
)

// Kind is one of a container's three probes.
type Kind string

// The kinds, which are also the keys of TaskStatus.Probes.
const (
	Startup   Kind = "startup"
	Liveness  Kind = "liveness"
	Readiness Kind = "readiness"
)

// kinds in the order in which they run and are judged.
var kinds = []Kind{Startup, Liveness, Readiness}

// ListensElsewhere is in the answer of a probe whose port is not the program's; the ports of the program follow.
const ListensElsewhere = "the program listens on "

// Silent is in the message of a failure whose command, a probe's or a container's, printed nothing.
const Silent = "and printed nothing"

// The defaults of fields that are left out.
const (
	DefaultPeriod  = 10 * time.Second
	DefaultTimeout = time.Second
	defaultFails   = 3
	defaultPasses  = 1
)

// rule is a probe's schedule with the defaults filled in.
type rule struct {
	delay, period, timeout time.Duration
	fails, passes          int
}

func ruleOf(p api.Probe) rule {
	r := rule{
		delay: p.InitialDelay.Or(0), period: p.Period.Or(DefaultPeriod), timeout: p.Timeout.Or(DefaultTimeout),
		fails: p.FailureThreshold, passes: p.SuccessThreshold,
	}
	if r.period <= 0 {
		r.period = DefaultPeriod
	}
	if r.fails <= 0 {
		r.fails = defaultFails
	}
	if r.passes <= 0 {
		r.passes = defaultPasses
	}
	return r
}

// declared returns one kind's probe; nil if there is none.
func declared(p api.Probes, kind Kind) *api.Probe {
	switch kind {
	case Startup:
		return p.Startup
	case Liveness:
		return p.Liveness
	case Readiness:
		return p.Readiness
	}
	return nil
}
