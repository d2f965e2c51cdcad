package simulation

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/liveness"
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

// horizon is the part of its store that one life of a server has seen for sure. A goroutine that was given a commit may
// work on it until time passes: what was passed on at an earlier instant has been seen.
type horizon struct {
	mu           sync.Mutex
	before, last int64
	at           time.Time // of last
	// beats are the last ones by node.
	beats map[string]time.Time
}

// pass notes that a server was given all commits up to a revision.
func (h *horizon) pass(revision int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.After(h.at) {
		h.before, h.at = h.last, now
	}
	h.last = max(h.last, revision)
}

func (h *horizon) seen() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Now().After(h.at) {
		return h.last
	}
	return h.before
}

// renews notes that a server was asked to renew a lease: the node of a heartbeat has beaten.
func (l *link) renews(lease store.LeaseID) {
	l.w.archive.mu.Lock()
	node := l.w.archive.leases[lease]
	l.w.archive.mu.Unlock()
	l.horizon.mu.Lock()
	defer l.horizon.mu.Unlock()
	if l.horizon.beats == nil {
		l.horizon.beats = map[string]time.Time{}
	}
	l.horizon.beats[node] = time.Now()
}

// twoBeats is the time in which a machine beats twice.
const twoBeats = 10 * time.Second

// marksWell judges what a server sends of silent nodes: two beats are missing since the last one that came.
func (l *link) marksWell(txn store.Txn) {
	if l.w.shared() {
		return
	}
	l.horizon.mu.Lock()
	defer l.horizon.mu.Unlock()
	for _, op := range txn.Do {
		node, is := strings.CutPrefix(op.Key, records.AlivePrefix)
		beat := records.HeartbeatOf(op.Value)
		if !is || op.Delete || beat.Last.IsZero() {
			continue
		}
		if last := l.horizon.beats[node]; last.After(beat.Last) || time.Since(beat.Last) < twoBeats {
			l.w.fail("%s is said to be silent since %s ago, and has beaten %s ago", node, time.Since(beat.Last),
				time.Since(last))
		}
	}
}

// placesWell judges a transaction that a server sends, whatever becomes of it on the way: a pod gets a node that no
// server hears only if no other node could have it; and none while another node could that was heard before the server
// was started again, and may be about to beat. It must be so in one of the states of the store from which the server
// may have decided. What one of several servers sends is late by times that aren't known.
func (l *link) placesWell(txn store.Txn) {
	if l.w.shared() || !l.w.several() {
		return
	}
	for _, op := range txn.Do {
		if op.Delete || !strings.HasPrefix(op.Key, records.TasksPrefix) {
			continue
		}
		var task api.Task
		if decode(op.Value, &task); task.Node == "" || l.w.archive.nodeOf(task.ID) == task.Node {
			continue
		}
		if why := l.misplaced(task.Node); why != "" {
			l.w.fail("pod %s is placed on %s: %s", task.ContainerName(), task.Node, why)
		}
	}
}

// misplaced returns why no state from which this server may have decided lets a node have a pod; empty if one does.
func (l *link) misplaced(node string) (why string) {
	newest := l.list(records.ClusterKey, 0).Revision
	for at := l.horizon.seen(); at <= newest; at++ {
		if why = l.prefers(at, node); why == "" {
			return ""
		}
	}
	return why
}

// prefers returns why a node gets no pod that another one could have, as the store was at a revision.
func (l *link) prefers(at int64, node string) string {
	could := l.couldAt(at)
	for other, beat := range could {
		switch {
		case other == node:
		case l.awaited(beat):
			return other + ", which was heard before the server was started again, had no time to beat"
		case !could[node].Beats(), l.awaited(could[node]):
			return "no server hears it, and " + other + " could have the pod"
		}
	}
	return ""
}

// beatAt is a node's heartbeat with the revision that wrote it.
type beatAt struct {
	records.Heartbeat
	revision int64
}

// awaited reports whether a heartbeat is of an earlier life of the server, which has not ended its wait for the next.
func (l *link) awaited(b beatAt) bool { return b.Beats() && b.revision > 0 && b.revision <= l.from }

// couldAt returns the nodes that could have a pod, with their heartbeats, as the store was at a revision: those that
// are alive and ready, neither cordoned nor drained, run containers and were not lost again and again. Other than that,
// all nodes are the same.
func (l *link) couldAt(at int64) map[string]beatAt {
	could := map[string]beatAt{}
	for _, entry := range l.list(records.AlivePrefix, at).Entries {
		var status api.NodeStatus
		var object api.Object
		var spec api.NodeSpec
		var losses api.NodeLosses
		node := strings.TrimPrefix(entry.Key, records.AlivePrefix)
		ref := api.Ref{Kind: api.KindNode, Scope: api.Unscoped, Name: node}
		l.read(records.NodeKey(node), at, &status)
		l.read(records.LossesKey(node), at, &losses)
		if l.read(records.ObjectKey(ref), at, &object); len(object.Spec) > 0 {
			decode(object.Spec, &spec)
		}
		if status.Ready && status.Runtime != api.RuntimeProcess && !liveness.Damped(losses) &&
			(spec.Availability == "" || spec.Availability == api.NodeActive) {
			could[node] = beatAt{records.HeartbeatOf(entry.Value), entry.Modified}
		}
	}
	return could
}

// list reads the store as it was at a revision; 0 is the newest.
func (l *link) list(prefix string, at int64) store.Page {
	page, err := l.Store.List(context.Background(), prefix, store.ListOptions{Revision: at})
	if err != nil {
		return store.Page{} // it was compacted: nothing is known of what was so long ago
	}
	return page
}

func (l *link) read(key string, at int64, into any) {
	for _, entry := range l.list(key, at).Entries {
		if entry.Key == key {
			decode(entry.Value, into)
		}
	}
}
