package eventlog

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"

	"tend.dev/tend/api"
)

// The bounds of calls by actor: the records that an actor has before its calls are folded, the records that it regains
// each minute, the different calls of a minute that are folded apart, and the actors that are counted apart.
const (
	boundedRoom   = 30
	boundedRefill = 1
	boundedCalls  = 8
	boundedActors = 1000
)

// isRefused reports whether a call was refused as invalid or forbidden: it changed nothing.
func isRefused(data api.AuditData) bool {
	return data.Status >= http.StatusBadRequest && data.Status < http.StatusInternalServerError
}

// bounded counts calls by their actor, so that an actor that calls very often, such as a container with a token, can't
// push the calls of others out of the log. Each actor has room for some records, which comes back slowly. Beyond it,
// the equal calls of a minute become one record with their count. Safe for concurrent use.
type bounded struct {
	mu     sync.Mutex
	actors map[string]*actorCalls
}

// actorCalls is the state of an actor: how many of its calls still get a record each, and the calls folded since the
// minute began, in the order of the first ones.
type actorCalls struct {
	room   int
	folded map[sameCall]*api.AuditData
	order  []sameCall
}

// sameCall holds the fields that folded calls share. The zero value stands for all calls beyond boundedCalls.
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

// by returns the state of an actor. Actors beyond boundedActors share one.
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

// take begins another minute, and returns the records of the folded calls.
func (b *bounded) take() (out []api.AuditData) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, actor := range slices.Sorted(maps.Keys(b.actors)) {
		by := b.actors[actor]
		for _, same := range by.order {
			if by.folded[same].Count == 1 {
				by.folded[same].Count = 0 // a single call has a record without a count
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

// takeFolded queues the records of the folded calls.
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
