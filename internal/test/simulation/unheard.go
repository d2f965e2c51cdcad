package simulation

import (
	"math/rand/v2"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// A machine may be silent too briefly for its node to count as down: two beats are missing then, and no new pod may be
// placed there.

// A lull is at least twice as long as the time between two beats, and shorter than a heartbeat lasts.
const (
	leastLull = 13 * time.Second
	mostLull  = 24 * time.Second
)

// lull silences a machine's agent for a moment, in which people scale deployments up.
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

// seenWithin is the time after which a server that is alone has seen its store: longer than its watch lags.
const seenWithin = 3 * time.Second

// missed records, from a heartbeat's record, since when two beats are missing.
func (a *archive) missed(node string, beat records.Heartbeat) {
	if beat.Last.IsZero() {
		delete(a.unheard, node)
	} else if _, known := a.unheard[node]; !known {
		a.unheard[node] = time.Now()
	}
}

// sent checks a transaction that a server sends to the store, even if it is lost on the way: no pod gets a node that,
// by the store, no server hears. Among several servers, the sender may lag far behind.
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
