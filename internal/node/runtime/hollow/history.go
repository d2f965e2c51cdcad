package hollow

import (
	"maps"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// Record is one event of the engine. Unlike a stream, the history has the events that no reader received.
type Record struct {
	At        time.Time
	Event     runtime.EventKind
	Container string // the container's name
	Labels    map[string]string
	ExitCode  int
	Signal    string
	// Spec is the container's spec when it was created; it must not be changed.
	Spec *runtime.ContainerSpec
	// ImageID is the image it was made from.
	ImageID string
	// ID is the engine's id of the container.
	ID string
}

// history records events so that tests can check safety properties.
type history struct {
	records []Record
	calls   map[string]int
	alive   map[string]int
	most    map[string]int
	observe func(Record)
}

// Observe calls fn for each record from now on, instead of storing them, with the engine locked: fn must not call the
// engine.
func (e *Engine) Observe(fn func(Record)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.observe = fn
}

func newHistory() history {
	return history{calls: map[string]int{}, alive: map[string]int{}, most: map[string]int{}}
}

// History returns everything that happened to containers, in order.
func (e *Engine) History() []Record {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.log.records)
}

// Calls counts the mutating calls that clients made, by verb: create, start, stop, remove, pull.
func (e *Engine) Calls() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.log.calls)
}

// Mutations returns the sum of Calls.
func (e *Engine) Mutations() int {
	sum := 0
	for _, n := range e.Calls() {
		sum += n
	}
	return sum
}

// MaxAlive returns the maximal number of containers that ran at one time, by slot: "kind/scope/name/slot" from their
// labels.
func (e *Engine) MaxAlive() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.log.most)
}

func slotKey(labels map[string]string) string {
	return labels[api.LabelKind] + "/" + labels[api.LabelScope] + "/" + labels[api.LabelName] + "/" + labels[api.LabelSlot]
}

// bornLocked and diedLocked count a container's process.
func (e *Engine) bornLocked(c *container) {
	key := slotKey(c.labels)
	e.log.alive[key]++
	e.log.most[key] = max(e.log.most[key], e.log.alive[key])
}

func (e *Engine) diedLocked(c *container) {
	e.log.alive[slotKey(c.labels)]--
}
