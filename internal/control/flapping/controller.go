package flapping

import (
	"context"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/owner"
	"tend.dev/tend/internal/core/liveness"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// Controller writes the losses of nodes.
type Controller struct {
	control.Deps
	liveness *owner.Liveness
}

const kind = "flapping"

// New returns the controller.
func New(deps control.Deps, liveness *owner.Liveness) *Controller {
	return &Controller{Deps: deps.Defaults(), liveness: liveness}
}

// Name implements control.Controller.
func (c *Controller) Name() string { return kind }

// Keys returns all nodes, and those that have a record.
func (c *Controller) Keys() []engine.Key {
	var out []engine.Key
	s := c.Snapshot()
	for _, node := range s.Nodes() {
		out = append(out, keyOf(node.Value.ID))
	}
	for record := range s.Prefix(records.LossesPrefix) {
		if node := strings.TrimPrefix(record.Key, records.LossesPrefix); !s.Node(node).Exists() {
			out = append(out, keyOf(node))
		}
	}
	return out
}

func keyOf(node string) engine.Key { return engine.Key{Kind: kind, Name: node} }

// Dirty returns the nodes whose record changes.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	s := c.Snapshot()
	return control.Due(c.Keys(), func(key engine.Key) bool {
		_, _, changes := c.decide(s, key.Name, now)
		return changes
	})
}

// Affected returns the node whose heartbeat or record changes.
func (c *Controller) Affected(_ records.Snapshot, change view.Change) []engine.Key {
	c.liveness.Notice(change)
	for _, prefix := range []string{records.AlivePrefix, records.LossesPrefix, records.ActualNodesPrefix} {
		if node, ok := strings.CutPrefix(change.Key, prefix); ok {
			return []engine.Key{keyOf(node)}
		}
	}
	return nil
}

// Reconcile brings the record of one node up to date.
func (c *Controller) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	s := c.Snapshot()
	next, after, changes := c.decide(s, key.Name, c.Now())
	if !changes {
		return engine.Result{After: after}, nil
	}
	at := records.LossesKey(key.Name)
	txn := records.NewTxn("flapping").If(at, s.Losses(key.Name).Modified)
	switch {
	case len(next.At) == 0:
		txn.Delete(at)
	default:
		txn.Put(at, next)
	}
	revision, err := c.Commit(ctx, txn, at)
	if err == nil && liveness.Damped(next) {
		c.Logger.Info("flapping node", "node", key.Name, "losses", len(next.At), "until", next.Until)
	}
	return engine.Result{Revision: revision, After: after}, err
}

// decide returns the next record of a node, when to look again, and whether the record changes.
func (c *Controller) decide(s records.Snapshot, node string, now time.Time) (next api.NodeLosses, after time.Duration, changes bool) {
	var before api.NodeLosses
	read := s.Losses(node)
	if read.Exists() {
		before = *read.Value
	}
	if !s.Node(node).Exists() {
		return next, 0, read.Exists()
	}
	absence := c.liveness.Of(s, node)
	lost := absence.Lost && absence.Together == 0 && len(s.Nodes()) > 1
	next, after = liveness.Damp(before, lost, s.Alive(node), now)
	if len(next.At) == 0 {
		next = api.NodeLosses{}
	}
	return next, owner.Sooner(after, absence.Left), !liveness.SameLosses(before, next)
}
