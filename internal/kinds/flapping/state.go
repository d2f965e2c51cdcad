package flapping

import (
	"time"

	"tend.dev/tend/api"
)

// firstHeartbeat bounds the time until a node that has just joined or returned is heard of.
const firstHeartbeat = 5 * time.Second

// answering describes a node's answers: whether its heartbeat lasts, whether no server hears it all the same, and
// whether it is lost.
type answering struct{ alive, unheard, lost bool }

// stateOf returns what to know of a node. A node that was lost stays so until it answers: a new term, which can't tell
// yet, makes nothing of it. A new one may report before its first heartbeat.
func stateOf(was *api.NodeState, facts api.NodeStatus, is answering, losses api.NodeLosses,
	now time.Time) *api.NodeState {
	next := api.NodeState{
		State: api.NodeUp, ChangedAt: now.UTC(), Ready: facts.Ready, Reason: facts.Reason, Version: facts.Version,
		Address: facts.Address,
	}
	if !losses.Until.IsZero() {
		next.Losses, next.Until = len(losses.At), losses.Until
	}
	switch {
	case is.lost || !is.alive && was != nil && was.State == api.NodeLost:
		next.State = api.NodeLost
	case is.unheard:
		next.State = api.NodeSilent
	case !is.alive && was != nil && (was.State != api.NodeUp || now.Sub(was.ChangedAt) > firstHeartbeat):
		next.State = api.NodeSilent
	}
	if was != nil && was.State == next.State {
		next.ChangedAt = was.ChangedAt
	}
	return &next
}

// sameState reports whether two records say the same.
func sameState(a, b api.NodeState) bool {
	same := a.ChangedAt.Equal(b.ChangedAt) && a.Until.Equal(b.Until)
	a.ChangedAt, a.Until = b.ChangedAt, b.Until
	return same && a == b
}
