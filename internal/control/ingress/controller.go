package ingress

import (
	"context"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// Controller reconciles ingresses.
type Controller struct{ control.Deps }

// New returns the controller of ingresses.
func New(deps control.Deps) *Controller { return &Controller{deps.Defaults()} }

// Reconcile writes the status of one ingress, or deletes the status of one that is gone.
func (c *Controller) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	ref := api.Ref{Kind: api.KindIngress, Scope: key.Scope, Name: key.Name}
	txn, err := c.step(c.Snapshot(), ref, c.Now())
	if err != nil {
		return engine.Result{}, err
	}
	revision, err := c.Commit(ctx, txn, records.StatusKey(ref))
	return engine.Result{Revision: revision}, err
}

// step returns the commit of one reconcile; it is empty if there is nothing to write.
func (c *Controller) step(s records.Snapshot, ref api.Ref, now time.Time) (*records.Txn, error) {
	object, stored, key := s.Object(ref), s.IngressStatus(ref), records.StatusKey(ref)
	if !object.Exists() {
		txn := records.NewTxn("ingress.forget")
		if left, there := s.Get(key); there {
			txn.If(records.ObjectKey(ref), 0).If(key, left.Modified).Delete(key)
		}
		return txn, nil
	}
	var before api.IngressStatus
	if stored.Exists() {
		before = *stored.Value
	}
	txn := records.NewTxn("ingress.status")
	next := observe(s, object).status(before, now)
	changed, err := control.Differs(stored.Value, next)
	if changed {
		txn.If(records.ObjectKey(ref), object.Modified).If(key, stored.Modified).Put(key, next)
	}
	return txn, err
}

// Name implements control.Controller.
func (c *Controller) Name() string { return string(api.KindIngress) }

// Keys returns all ingresses, and those of which only the status is left.
func (c *Controller) Keys() []engine.Key {
	snapshot := c.Snapshot()
	out := control.Keys(snapshot, api.KindIngress)
	for record := range snapshot.Prefix(records.StatusPrefix + string(api.KindIngress) + "/") {
		ref, _, ok := records.ParseRef(strings.TrimPrefix(record.Key, records.StatusPrefix))
		if ok && !snapshot.Object(ref).Exists() {
			out = append(out, control.Key(ref))
		}
	}
	return out
}

// Dirty returns the ingresses for which a reconcile would write something.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	var out []engine.Key
	for _, key := range c.Keys() {
		txn, err := c.step(c.Snapshot(), api.Ref{Kind: api.KindIngress, Scope: key.Scope, Name: key.Name}, now)
		if err != nil || !txn.Empty() {
			out = append(out, key)
		}
	}
	return out
}

// Affected returns the ingresses a change may concern: the changed one, those that a changed workload serves, or all if
// a proxy reported.
func (c *Controller) Affected(s records.Snapshot, change view.Change) []engine.Key {
	value := change.New
	if value == nil {
		value = change.Old
	}
	switch record := value.(type) {
	case *api.Object:
		if record.Kind == api.KindIngress {
			return []engine.Key{control.Key(record.Ref())}
		}
		return servedBy(s, record.Ref())
	case *api.Task:
		return servedBy(s, record.Owner())
	case *api.TaskStatus:
		if task := s.Task(record.ID); task.Exists() {
			return servedBy(s, task.Value.Owner())
		}
	case *api.IngressNodeStatus:
		return control.Keys(s, api.KindIngress)
	}
	return nil
}

func servedBy(s records.Snapshot, workload api.Ref) []engine.Key {
	if !workload.Kind.HasSlots() {
		return nil
	}
	var out []engine.Key
	for object := range s.Objects(api.KindIngress) {
		if object.Value.Scope != workload.Scope {
			continue
		}
		spec, err := api.DecodeSpec[api.IngressSpec](*object.Value)
		if err == nil && spec.ServiceName(object.Value.Name) == workload.Name {
			out = append(out, control.Key(object.Value.Ref()))
		}
	}
	return out
}
