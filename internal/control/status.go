package control

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// Kind is a kind that has a controller.
type Kind struct {
	api.KindInfo
	New func(Deps) Controller
}

// Reporter is the controller of a kind whose objects need nothing done but their status written. S is the status.
type Reporter[S any] struct {
	Deps
	Kind api.Kind
	// Status returns the status of an object, made from the one before. It is pure.
	Status func(s records.Snapshot, object records.Read[api.Object], before S, now time.Time) S
	// After returns how long it takes until time alone changes a status; 0 for never. Default: never.
	After func(s records.Snapshot, object records.Read[api.Object], now time.Time) time.Duration
}

// Name implements Controller.
func (r *Reporter[S]) Name() string { return string(r.Kind) }

// Keys returns all objects of the kind, and those of which only the status is left.
func (r *Reporter[S]) Keys() []engine.Key { return KeysAndStatuses(r.Snapshot(), r.Kind) }

// Dirty returns the objects for which a reconcile would write something.
func (r *Reporter[S]) Dirty(now time.Time) []engine.Key {
	return Due(r.Keys(), func(key engine.Key) bool {
		txn, err := r.step(r.Snapshot(), r.ref(key), now)
		return err != nil || !txn.Empty()
	})
}

// Affected returns the changed object, if it is of the kind.
func (r *Reporter[S]) Affected(_ records.Snapshot, change view.Change) []engine.Key {
	value := change.New
	if value == nil {
		value = change.Old
	}
	if object, ok := value.(*api.Object); ok && object.Kind == r.Kind {
		return []engine.Key{Key(object.Ref())}
	}
	return nil
}

// Reconcile writes the status of one object, or deletes the status of one that is gone.
func (r *Reporter[S]) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	ref := r.ref(key)
	txn, err := r.step(r.Snapshot(), ref, r.Now())
	if err != nil {
		return engine.Result{}, err
	}
	revision, err := r.Commit(ctx, txn, records.StatusKey(ref))
	result := engine.Result{Revision: revision}
	if object := r.Snapshot().Object(ref); r.After != nil && object.Exists() {
		result.After = r.After(r.Snapshot(), object, r.Now())
	}
	return result, err
}

func (r *Reporter[S]) ref(key engine.Key) api.Ref {
	return api.Ref{Kind: r.Kind, Scope: key.Scope, Name: key.Name}
}

// step returns the commit of one reconcile; it is empty if there is nothing to write.
func (r *Reporter[S]) step(s records.Snapshot, ref api.Ref, now time.Time) (*records.Txn, error) {
	object, key := s.Object(ref), records.StatusKey(ref)
	stored, there := s.Get(key)
	if !object.Exists() {
		txn := records.NewTxn(string(r.Kind) + ".forget")
		if there {
			txn.If(records.ObjectKey(ref), 0).If(key, stored.Modified).Delete(key)
		}
		return txn, nil
	}
	var before S
	was, _ := stored.Value.(*S)
	if was != nil {
		before = *was
	}
	next := r.Status(s, object, before, now)
	txn := records.NewTxn(string(r.Kind) + ".status")
	changed, err := Differs(was, next)
	if changed {
		txn.If(records.ObjectKey(ref), object.Modified).If(key, stored.Modified).Put(key, next)
	}
	return txn, err
}
