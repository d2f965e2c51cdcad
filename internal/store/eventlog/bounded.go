package eventlog

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"

	"tend.dev/tend/api"
)

// The bounds of calls that are recorded by their actor: how many of an actor have a record each until more of them are
// folded, how many it gets back each minute, how many different calls of a minute are folded apart, and how many actors
// are counted apart.
const (
	boundedRoom   = 30
	boundedRefill = 1
	boundedCalls  = 8
	boundedActors = 1000
)

// isRefused reports whether a call was refused for what it asks: it changed nothing.
func isRefused(data api.AuditData) bool {
	return data.Status >= http.StatusBadRequest && data.Status < http.StatusInternalServerError
}

// bounded counts calls by their actor: one that may call, as a container with a token may, can't push the calls of
// others out of the log by calling very often. Each actor has room for some records, which comes back slowly. Beyond
// it, the equal calls of a minute are one record with their count. Safe for concurrent use.
type bounded struct {
	mu     sync.Mutex
	actors map[string]*actorCalls
}

// actorCalls holds what is known of an actor: how many of its calls still have a record each, and what was folded since
// the minute began, in the order of the first calls.
type actorCalls struct {
	room   int
	folded map[sameCall]*api.AuditData
	order  []sameCall
}

// sameCall holds what folded calls have in common. The zero value stands for all beyond boundedCalls.
type sameCall struct {
	method, path string
	object       api.Ref
	status       int
	dryRun       bool
}

// admit reports whether a call is recorded itself; else it is folded.
func (b *bounded) admit(data api.AuditData) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	by := b.by(api.ActorName(data.Actor))
	if by.room > 0 {
		by.room--
		return true
	}
	same := sameCall{data.Method, data.Path, api.Ref{Kind: data.Kind, Scope: data.Scope, Name: data.Name},
		data.Status, data.DryRun}
	if by.folded[same] == nil && len(by.order) >= boundedCalls {
		same = sameCall{}
	}
	first := by.folded[same]
	if first == nil {
		first = &data
		by.folded[same] = first
		by.order = append(by.order, same)
	}
	first.Count++
	return false
}

// by returns what is known of an actor; those beyond boundedActors are counted together.
func (b *bounded) by(actor string) *actorCalls {
	if b.actors == nil {
		b.actors = map[string]*actorCalls{}
	}
	by := b.actors[actor]
	if by == nil && len(b.actors) >= boundedActors {
		actor = ""
		by = b.actors[actor]
	}
	if by == nil {
		by = &actorCalls{room: boundedRoom, folded: map[sameCall]*api.AuditData{}}
		b.actors[actor] = by
	}
	return by
}

// take begins another minute, and returns the records of what was folded.
func (b *bounded) take() (out []api.AuditData) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, actor := range slices.Sorted(maps.Keys(b.actors)) {
		by := b.actors[actor]
		for _, same := range by.order {
			if by.folded[same].Count == 1 {
				by.folded[same].Count = 0 // as every record of one call
			}
			out = append(out, *by.folded[same])
		}
		by.folded, by.order = map[sameCall]*api.AuditData{}, nil
		if by.room += boundedRefill; by.room >= boundedRoom {
			delete(b.actors, actor)
		}
	}
	return out
}

// takeFolded writes what was folded.
func (a *Auditor) takeFolded(ctx context.Context) {
	now, room := a.Now().UTC(), auditBytes
	var batch []audited
	for _, data := range a.bounded.take() {
		batch = append(batch, audited{now, data})
		if room -= weight(data); room <= 0 || len(batch) == auditBatch {
			a.write(ctx, batch)
			batch, room = nil, auditBytes
		}
	}
	if len(batch) > 0 {
		a.write(ctx, batch)
	}
}
