package unanswered

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// patience bounds the time in which a node that is asked gives no sign: agents report at once that they pull or build.
const patience = 30 * time.Second

// Controller writes who was asked in vain.
type Controller struct {
	control.Deps

	mu    sync.Mutex
	since map[api.Ref]asking
}

// asking is whom an owner's request waits for, and since when this controller knows.
type asking struct {
	node, uid, image, nonce string
	since                   time.Time
}

const kind = "unanswered"

// New returns the controller.
func New(deps control.Deps) *Controller {
	return &Controller{Deps: deps.Defaults(), since: map[api.Ref]asking{}}
}

// Name implements control.Controller.
func (c *Controller) Name() string { return kind }

// Keys returns the owners of requests, and of records.
func (c *Controller) Keys() (out []engine.Key) {
	s := c.Snapshot()
	for _, request := range s.ImageRequests() {
		out = append(out, keyOf(request.Value.Owner))
	}
	for record := range s.Prefix(records.UnansweredPrefix) {
		if ref, _, ok := records.ParseRef(strings.TrimPrefix(record.Key, records.UnansweredPrefix)); ok &&
			!s.ImageRequest(ref).Exists() {
			out = append(out, keyOf(ref))
		}
	}
	return out
}

func keyOf(ref api.Ref) engine.Key {
	return engine.Key{Kind: kind, Scope: ref.Scope, Name: string(ref.Kind) + "/" + ref.Name}
}

func ownerOf(key engine.Key) api.Ref {
	of, name, _ := strings.Cut(key.Name, "/")
	return api.Ref{Kind: api.Kind(of), Scope: key.Scope, Name: name}
}

// Dirty returns the owners whose record changes, or who wait for a node that nobody watches yet.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	s := c.Snapshot()
	return control.Due(c.Keys(), func(key engine.Key) bool {
		_, after, changes := c.decide(s, ownerOf(key), now)
		return changes || after == patience
	})
}

// Affected returns the owner whose request, answers or record change; the heartbeats of nodes, a pass finds.
func (c *Controller) Affected(_ records.Snapshot, change view.Change) []engine.Key {
	value := change.New
	if value == nil {
		value = change.Old
	}
	switch record := value.(type) {
	case *api.ImageRequest:
		return []engine.Key{keyOf(record.Owner)}
	case *api.ImageStatus:
		return []engine.Key{keyOf(record.Owner)}
	}
	return nil
}

// Reconcile brings the record of one owner up to date.
func (c *Controller) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	s, ref := c.Snapshot(), ownerOf(key)
	next, after, changes := c.decide(s, ref, c.Now())
	if !changes {
		return engine.Result{After: after}, nil
	}
	at := records.UnansweredKey(ref)
	txn := records.NewTxn("unanswered").If(at, s.Unanswered(ref).Modified)
	if len(next.Nodes) == 0 {
		txn.Delete(at)
	} else {
		txn.Put(at, next)
		c.Logger.Warn("a node that was asked for an image gives no sign; another one is asked", "node",
			next.Nodes[len(next.Nodes)-1], "image", next.Image)
	}
	revision, err := c.Commit(ctx, txn, at)
	return engine.Result{Revision: revision, After: after}, err
}

// decide returns the next record of an owner, when to look again, and whether the record changes.
func (c *Controller) decide(s records.Snapshot, ref api.Ref, now time.Time) (next records.Unanswered,
	after time.Duration, changes bool) {
	request, had := s.ImageRequest(ref), s.Unanswered(ref)
	if !request.Exists() {
		c.forget(ref)
		return next, 0, had.Exists()
	}
	next = records.Unanswered{OwnerUID: request.Value.OwnerUID, Image: request.Value.Image, Nonce: request.Value.Nonce}
	if had.Exists() && had.Value.Of(*request.Value) {
		next.Nodes = slices.Clone(had.Value.Nodes)
	}
	waiting := imageask.Waiting(s, *request.Value)
	if waiting == "" || slices.Contains(next.Nodes, waiting) { // it was answered, or there is no other node to ask
		c.forget(ref)
		return next, 0, had.Exists() && len(next.Nodes) == 0
	}
	if left := c.left(ref, asking{waiting, next.OwnerUID, next.Image, next.Nonce, now}); left > 0 {
		return next, left, had.Exists() && len(next.Nodes) == 0
	}
	next.Nodes = append(next.Nodes, waiting)
	return next, patience, true
}

// left returns for how much longer a node may give no sign.
func (c *Controller) left(ref api.Ref, is asking) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.since[ref]
	now := is.since
	is.since = known.since
	if age := now.Sub(known.since); ok && known == is && age >= 0 {
		return patience - age
	}
	is.since = now
	c.since[ref] = is
	return patience
}

func (c *Controller) forget(ref api.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.since, ref)
}
