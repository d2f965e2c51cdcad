package prober

import (
	"context"
	"math/rand/v2"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
)

// How many attempts run at once: those that open a socket, and those that start a process in a container.
const (
	maxSockets  = 256
	maxCommands = 32
)

// Options are the options of a Prober. Ask is required.
type Options struct {
	Ask Asker
	// Changed is called when a task's phases changed. It must not block. It may be nil.
	Changed func(task string)
	// Sockets and Commands are how many attempts run at once; default 256 (HTTP and TCP) and 32 (exec).
	Sockets, Commands int
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Metrics may be nil.
	Metrics *Metrics
}

// Asker makes one attempt, within the attempt's timeout.
type Asker func(ctx context.Context, a Attempt) probe.Result

// Attempt is one attempt of a probe at one container.
type Attempt struct {
	Task      string
	Container string
	Kind      probe.Kind
	Probe     api.Probe
	Timeout   time.Duration
}

// Target is a running container with its probes.
type Target struct {
	Task      string
	Container string
	StartedAt time.Time
	Probes    api.Probes
	// Status is the state of its probes.
	Status map[string]api.ProbeStatus
	// Grace is the time after its start in which failures of the readiness probe don't count.
	Grace time.Duration
}

// sameIncarnation reports whether two targets are the same run of a container, with the same probes.
func (t Target) sameIncarnation(other Target) bool {
	return t.Container == other.Container && t.StartedAt.Equal(other.StartedAt)
}

func (o Options) withDefaults() Options {
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	if o.Sockets <= 0 {
		o.Sockets = maxSockets
	}
	if o.Commands <= 0 {
		o.Commands = maxCommands
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// golden is the fraction of the golden ratio: each multiple falls into the widest gap that the earlier ones left.
const golden = 0.6180339887498949

// spreader places probes evenly within their periods, whatever their number. It begins at random, so that agents
// started together don't probe at the same time.
func spreader() func() float64 {
	place := rand.Float64()
	return func() float64 {
		if place += golden; place >= 1 {
			place--
		}
		return place
	}
}
