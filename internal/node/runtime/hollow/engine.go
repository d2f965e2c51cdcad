package hollow

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// Engine is one simulated machine with its containers and images. It outlives its clients.
type Engine struct {
	mu         sync.Mutex
	opts       Options
	down       bool
	containers map[string]*container // by id
	names      map[string]*container
	dealt      map[string]int    // how many addresses each machine has dealt out
	images     map[string]string // normal reference → id
	imageIDs   map[string]bool
	registry   map[string]published
	built      map[string]runtime.BuiltImage // by id
	// buildFailure is the error that builds return.
	buildFailure error
	volumes      map[string]map[string]string // name → labels
	streams      map[*stream]struct{}
	watches      map[*processWatch]struct{}
	sequence     int // of ids, pids, addresses, ports
	log          history
}

// NewEngine returns an empty machine, with the first of opts if there is one.
func NewEngine(opts ...Options) *Engine {
	e := &Engine{
		containers: map[string]*container{}, dealt: map[string]int{},
		names:    map[string]*container{},
		images:   map[string]string{},
		imageIDs: map[string]bool{},
		registry: map[string]published{},
		built:    map[string]runtime.BuiltImage{},
		volumes:  map[string]map[string]string{},
		streams:  map[*stream]struct{}{},
		watches:  map[*processWatch]struct{}{},
		log:      newHistory(),
	}
	if len(opts) > 0 {
		e.opts = opts[0]
	}
	return e
}

// New returns a client of a new engine, for tests that need no second one.
func New(opts Options) *Runtime {
	return NewEngine(opts).Client(opts.Cluster, opts.Node)
}

// Behave replaces the behaviour of containers from their next start on; running ones keep theirs.
func (e *Engine) Behave(behaviour func(spec runtime.ContainerSpec) Behaviour) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opts.Behaviour = behaviour
}

// Before replaces Options.Before.
func (e *Engine) Before(hook func(verb, subject string) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opts.Before = hook
}

// Disconnect makes the engine unreachable: streams end and calls return ErrUnavailable, while containers keep running.
func (e *Engine) Disconnect() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = true
	e.endStreamsLocked()
}

// Reconnect ends a Disconnect.
func (e *Engine) Reconnect() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = false
}

// StopEngine shuts the engine down as a service manager does: it stops running containers, which does not count as a
// requested stop, streams end, and calls return ErrUnavailable.
func (e *Engine) StopEngine() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.sortedLocked() {
		e.shutDownLocked(c)
	}
	e.down = true
	e.endStreamsLocked()
}

// StartEngine starts the engine again: containers start according to their restart policies.
func (e *Engine) StartEngine() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = false
	for _, c := range e.sortedLocked() {
		e.bootLocked(c)
	}
}

// RestartEngine stops the engine and starts it.
func (e *Engine) RestartEngine() {
	e.StopEngine()
	e.StartEngine()
}

// Close ends every timer and stream. It is a test's last call: the engine can't be used afterwards.
func (e *Engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = true
	e.endStreamsLocked()
	for _, c := range e.containers {
		c.stopTimers()
	}
}

func (e *Engine) nextLocked() int {
	e.sequence++
	return e.sequence
}

func digestOf(format string, args ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return hex.EncodeToString(sum[:])
}

func (e *Engine) behaviourLocked(spec runtime.ContainerSpec) Behaviour {
	if e.opts.Behaviour == nil {
		return Behaviour{Exits: spec.Labels[api.LabelRole] == api.RoleInit} // init containers end by themselves
	}
	return e.opts.Behaviour(spec)
}

// afterLocked runs f, with the engine locked, after d; at once if d is 0. The timer belongs to the container's
// incarnation and ends with it.
func (e *Engine) afterLocked(c *container, d time.Duration, f func()) {
	if d <= 0 {
		f()
		return
	}
	generation := c.generation
	c.timers = append(c.timers, time.AfterFunc(d, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if c.generation == generation {
			f()
		}
	}))
}
