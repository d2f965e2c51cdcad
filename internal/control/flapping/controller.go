package flapping

import (
	"context"
	"slices"
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
	for _, prefix := range []string{records.LossesPrefix, records.NodeStatesPrefix} {
		for record := range s.Prefix(prefix) {
			if node := strings.TrimPrefix(record.Key, prefix); !s.Node(node).Exists() && !slices.Contains(out, keyOf(node)) {
				out = append(out, keyOf(node))
			}
		}
	}
	return out
}

func keyOf(node string) engine.Key { return engine.Key{Kind: kind, Name: node} }

// Dirty returns the nodes whose record changes.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	s := c.Snapshot()
	return control.Due(c.Keys(), func(key engine.Key) bool {
		return c.decide(s, key.Name, now).changes()
	})
}

// Affected returns the node whose heartbeat, report or record changes.
func (c *Controller) Affected(_ records.Snapshot, change view.Change) []engine.Key {
	for _, prefix := range []string{records.AlivePrefix, records.LossesPrefix, records.NodeStatesPrefix, records.ActualNodesPrefix} {
		if node, ok := strings.CutPrefix(change.Key, prefix); ok {
			return []engine.Key{keyOf(node)}
		}
	}
	return nil
}

// Reconcile brings the records of one node up to date.
func (c *Controller) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	d := c.decide(c.Snapshot(), key.Name, c.Now())
	if !d.changes() {
		return engine.Result{After: d.after}, nil
	}
	losses, state := records.LossesKey(key.Name), records.NodeStateKey(key.Name)
	txn := records.NewTxn("flapping").If(losses, d.had.Modified).If(state, d.was.Modified)
	switch {
	case len(d.losses.At) > 0:
		txn.Put(losses, d.losses)
	case d.had.Exists():
		txn.Delete(losses)
	}
	if d.state == nil {
		txn.Delete(state)
	} else {
		txn.Put(state, *d.state)
	}
	revision, err := c.Commit(ctx, txn, state)
	if err == nil && liveness.Damped(d.losses) {
		c.Logger.Info("flapping node", "node", key.Name, "losses", len(d.losses.At), "until", d.losses.Until)
	}
	return engine.Result{Revision: revision, After: d.after}, err
}

// decision is what to store of a node, beside what is stored.
type decision struct {
	had    records.Read[api.NodeLosses]
	losses api.NodeLosses
	was    records.Read[api.NodeState]
	state  *api.NodeState // nil if the node is gone
	// after is when to look again; 0 is never.
	after time.Duration
}

// changes reports whether anything is to be written.
func (d decision) changes() bool {
	var had api.NodeLosses
	if d.had.Exists() {
		had = *d.had.Value
	}
	same := d.was.Exists() == (d.state != nil) && (d.state == nil || sameState(*d.was.Value, *d.state))
	return !same || !liveness.SameLosses(had, d.losses)
}

// decide returns what is to be known of a node.
func (c *Controller) decide(s records.Snapshot, node string, now time.Time) decision {
	d := decision{had: s.Losses(node), was: s.NodeState(node)}
	facts := s.Node(node)
	if !facts.Exists() {
		return d
	}
	var had api.NodeLosses
	if d.had.Exists() {
		had = *d.had.Value
	}
	absence := c.liveness.Of(s, node)
	lost := absence.Lost && absence.Together == 0 && len(s.Nodes()) > 1
	d.losses, d.after = liveness.Damp(had, lost, s.Alive(node), now)
	if len(d.losses.At) == 0 {
		d.losses = api.NodeLosses{}
	}
	d.after = owner.Sooner(d.after, absence.Left)
	d.state = stateOf(d.was.Value, *facts.Value, s.Alive(node), absence.Lost, d.losses, now)
	return d
}
