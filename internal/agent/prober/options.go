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

// Options make a Prober. Ask is needed.
type Options struct {
	Ask Asker
	// Changed is called when a task's phases changed. It must not block. Nil is nobody.
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

// Attempt is one question to one container.
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
	// Status is where its probes stand.
	Status map[string]api.ProbeStatus
}

// sameIncarnation says whether two targets are the same run of a container, asked the same.
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

// golden is the golden ratio's fraction: each multiple falls into the widest gap the ones before have left.
const golden = 0.6180339887498949

// spreader places probes evenly within their periods, whatever their number. It begins at random, so that agents started
// together don't ask together.
func spreader() func() float64 {
	place := rand.Float64()
	return func() float64 {
		if place += golden; place >= 1 {
			place--
		}
		return place
	}
}
