package eventlog

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"tend.dev/tend/api"
)

// The bounds of refused calls within a minute: those of one actor that are recorded one by one, and the actors that are
// counted apart.
const (
	refusedRoom   = 30
	refusedActors = 1000
)

// isRefused reports whether a call was refused for what it asks: it changed nothing.
func isRefused(data api.AuditData) bool {
	return data.Status >= http.StatusBadRequest && data.Status < http.StatusInternalServerError
}

// refusals counts the refused calls of a minute by their actor: one that may call, as a container with a token may, can't push
// the calls of others out of the log by being refused. Safe for concurrent use.
type refusals struct {
	mu     sync.Mutex
	actors map[string]*refusedBy
}

// refusedBy is what is known of an actor. more is the first call beyond the bound, with the count of all of them.
type refusedBy struct {
	recorded int
	more     api.AuditData
}

// who returns an actor without what differs from one call to the next: the process of a user, the port of an address.
func who(actor string) string {
	actor, _, _ = strings.Cut(actor, " (pid ")
	if host, port, err := net.SplitHostPort(actor); err == nil && port != "" {
		return host
	}
	return actor
}

// room reports whether a call is recorded itself; else it is counted.
func (r *refusals) room(data api.AuditData) bool {
	actor := who(data.Actor)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.actors == nil {
		r.actors = map[string]*refusedBy{}
	}
	by := r.actors[actor]
	if by == nil && len(r.actors) >= refusedActors {
		actor = "" // all others
		by = r.actors[actor]
	}
	if by == nil {
		by = &refusedBy{}
		r.actors[actor] = by
	}
	if by.recorded < refusedRoom {
		by.recorded++
		return true
	}
	if by.more.Count == 0 {
		by.more = data
	}
	by.more.Count++
	return false
}

// take begins another minute, and returns the records of what was counted.
func (r *refusals) take() (out []api.AuditData) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, actor := range slices.Sorted(maps.Keys(r.actors)) {
		if more := r.actors[actor].more; more.Count > 0 {
			out = append(out, more)
		}
	}
	r.actors = nil
	return out
}

// takeRefused writes what was counted of refused calls.
func (a *Auditor) takeRefused(ctx context.Context) {
	now := a.Now().UTC()
	for batch := range slices.Chunk(a.refused.take(), auditBatch) {
		calls := make([]audited, len(batch))
		for i, data := range batch {
			calls[i] = audited{now, data}
		}
		a.write(ctx, calls)
	}
}
