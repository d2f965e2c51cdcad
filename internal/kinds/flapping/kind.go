package flapping

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/core/liveness"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

const kind = "flapping"

// Kind returns the kind whose steps write the losses of nodes. alone is board.Hearing's.
func Kind(l *owner.Liveness, alone time.Time) control.Kind {
	own := func(node string) []api.Ref { return []api.Ref{refOf(node)} }
	out := control.Kind{
		KindInfo: api.KindInfo{Kind: kind},
		Keys:     known,
		Step:     func(o control.Observation) (control.Step, error) { return decide(o, l, alone).step(o), nil },
	}
	for _, prefix := range []string{records.AlivePrefix, records.LossesPrefix, records.NodeStatesPrefix,
		records.ActualNodesPrefix} {
		out.Reads = append(out.Reads, control.Named(prefix, own))
	}
	out.Reads = append(out.Reads, func(s records.Snapshot, change view.Change) []api.Ref {
		if strings.HasPrefix(change.Key, records.ServersPrefix) { // which hears nodes
			return known(s)
		}
		return nil
	})
	return out
}

func refOf(node string) api.Ref { return api.Ref{Kind: kind, Scope: api.Unscoped, Name: node} }

// known returns all nodes, and those that have a record.
func known(s records.Snapshot) (out []api.Ref) {
	for _, node := range s.Nodes() {
		out = append(out, refOf(node.Value.ID))
	}
	for _, prefix := range []string{records.LossesPrefix, records.NodeStatesPrefix} {
		for record := range s.Prefix(prefix) {
			if node := strings.TrimPrefix(record.Key, prefix); !s.Node(node).Exists() &&
				!slices.Contains(out, refOf(node)) {
				out = append(out, refOf(node))
			}
		}
	}
	return out
}

// step returns the step that brings the records of a node up to date.
func (d decision) step(o control.Observation) control.Step {
	losses, state := records.LossesKey(o.Ref.Name), records.NodeStateKey(o.Ref.Name)
	next := control.Step{Guard: state, After: d.after}
	if !d.changes() {
		return next
	}
	next.Txn = records.NewTxn("flapping").If(losses, d.had.Modified).If(state, d.was.Modified)
	switch {
	case len(d.losses.At) > 0:
		next.Txn.Put(losses, d.losses)
	case d.had.Exists():
		next.Txn.Delete(losses)
	}
	if d.state == nil {
		next.Txn.Delete(state)
	} else {
		next.Txn.Put(state, *d.state)
	}
	if liveness.Damped(d.losses) {
		next.Log = func(log *slog.Logger) {
			log.Info("flapping node", "node", o.Ref.Name, "losses", len(d.losses.At), "until", d.losses.Until)
		}
	}
	return next
}

// decision holds what to store of a node, beside what is stored.
type decision struct {
	had    records.Read[api.NodeLosses]
	losses api.NodeLosses
	was    records.Read[api.NodeState]
	state  *api.NodeState // nil if the node is gone
	// after is the time until the next check; 0 means never.
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
func decide(o control.Observation, l *owner.Liveness, alone time.Time) decision {
	s, node := o.Snapshot, o.Ref.Name
	d := decision{had: s.Losses(node), was: s.NodeState(node)}
	facts := s.Node(node)
	if !facts.Exists() {
		return d
	}
	var had api.NodeLosses
	if d.had.Exists() {
		had = *d.had.Value
	}
	absence := l.Of(s, node)
	lost := absence.Lost && absence.Together == 0 && len(s.Nodes()) > 1
	d.losses, d.after = liveness.Damp(had, lost, s.Alive(node), o.Now)
	if len(d.losses.At) == 0 {
		d.losses = api.NodeLosses{}
	}
	d.after = owner.Sooner(d.after, absence.Left)
	unheard, _ := board.Unheard(s, node, alone)
	d.state = stateOf(d.was.Value, *facts.Value, answering{s.Alive(node), unheard, absence.Lost}, d.losses, o.Now)
	return d
}
