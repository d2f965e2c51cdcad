package simulation

import (
	"math/rand/v2"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// A machine may be silent for a moment that is too short for its node to count as down: two beats are missing then, and
// no new pod may go there.

// A lull is at least twice as long as the time between two beats, and shorter than a heartbeat lasts.
const (
	leastLull = 13 * time.Second
	mostLull  = 24 * time.Second
)

// lull lets nothing through to a machine's agent for a moment, in which people want more pods, and others.
func (w *World) lull(m *machine, random *rand.Rand) {
	d := leastLull + span(random, mostLull-leastLull)
	w.faultf("for %s, the cable to the agent of %s passes nothing on", d, m.node)
	m.cable.hold()
	w.lasting(d, m.cable.repair)
	w.pass(leastLull)
	for range 3 {
		applySomething(w, random)
		scaleSomething(w, random)
	}
}

// seenWithin is the time after which a server that is alone has seen what is in its store: longer than its watch lags.
const seenWithin = 3 * time.Second

// missed takes in a heartbeat's key: since when it says that two beats are missing.
func (a *archive) missed(node string, beat records.Heartbeat) {
	if beat.Last.IsZero() {
		delete(a.unheard, node)
	} else if _, known := a.unheard[node]; !known {
		a.unheard[node] = time.Now()
	}
}

// sent judges what a server sends to the store, whatever becomes of it on the way: no pod gets a node of which the
// store says that nobody hears it. Of several servers, the one that sends may be far behind.
func (a *archive) sent(txn store.Txn) {
	if a.w.shared() || !a.w.several() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, op := range txn.Do {
		if op.Delete || !strings.HasPrefix(op.Key, records.TasksPrefix) {
			continue
		}
		var task api.Task
		decode(op.Value, &task)
		since, unheard := a.unheard[task.Node]
		if unheard && a.nodes[task.ID] != task.Node && time.Since(since) > seenWithin {
			a.w.fail("pod %s is placed on %s, %s after the store said that it is not heard", task.ContainerName(), task.Node,
				time.Since(since))
		}
	}
}
