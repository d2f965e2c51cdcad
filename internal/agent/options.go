package agent

import (
	"log/slog"
	"time"

	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/runtime"
)

// Options make an Agent. Node, Control and Runtime are needed.
type Options struct {
	// Node is this node's id.
	Node    string
	Labels  map[string]string
	Control Control
	Runtime runtime.Runtime
	// Workers is how many tasks are made or started at once; default 8. More only grows the tail.
	Workers int
	// Stops and Pulls are how many run at once, beside the workers; default 32 and 4.
	Stops int
	Pulls int
	// Resync is the time between two comparisons with the engine's full list; default 10 s.
	Resync time.Duration
	// Heartbeat is the time between two renewals, HeartbeatTTL when the node counts as down without one; default 5 and 30 s.
	Heartbeat    time.Duration
	HeartbeatTTL time.Duration
	// DrainTime is what looks under way have to finish when the agent stops; default 10 s.
	DrainTime time.Duration
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Metrics of the engine; may be nil.
	Metrics *engine.Metrics
	// Now is the clock; default time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.Workers = orDefault(o.Workers, 8)
	o.Stops = orDefault(o.Stops, 32)
	o.Pulls = orDefault(o.Pulls, 4)
	o.Resync = orDefault(o.Resync, 10*time.Second)
	o.Heartbeat = orDefault(o.Heartbeat, 5*time.Second)
	o.HeartbeatTTL = orDefault(o.HeartbeatTTL, 30*time.Second)
	o.DrainTime = orDefault(o.DrainTime, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func orDefault[T int | time.Duration](value, fallback T) T {
	if value <= 0 {
		return fallback
	}
	return value
}
