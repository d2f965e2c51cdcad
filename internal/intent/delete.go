package intent

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
)

type deleteDecision struct {
	txn    *layout.Txn
	result api.DeleteResult
}

func (d *deleteDecision) transaction() *layout.Txn { return d.txn }

// Delete asks that an object and everything made for it go. Asking twice is no fault; the answer says so.
func (s *Service) Delete(ctx context.Context, target Target, actor string) (api.DeleteResult, error) {
	decided, revision, err := decide(ctx, s, func(snap layout.Snapshot) (*deleteDecision, error) {
		return prepareDelete(snap, target, s.opts.Now())
	})
	if err != nil {
		return api.DeleteResult{}, err
	}
	result := decided.result
	if revision != 0 {
		result.Revision = revision
	}
	s.note("delete", actor, revision, result.Object)
	return result, nil
}

func prepareDelete(snap layout.Snapshot, target Target, now time.Time) (*deleteDecision, error) {
	object, err := target.findExactly(snap)
	if err != nil {
		return nil, err
	}
	decided := &deleteDecision{txn: layout.NewTxn("delete"), result: api.DeleteResult{
		Object: object.Value.Ref(), DeletedAt: now, Revision: object.Modified,
	}}
	if at := object.Value.Metadata.DeletedAt; at != nil {
		decided.result.Already, decided.result.DeletedAt = true, *at
		return decided, nil
	}
	if err := checkUnused(snap, object.Value.Ref()); err != nil {
		return nil, err
	}
	removeObject(decided.txn, object, now)
	decided.result.Volumes = keptVolumes(snap, *object.Value)
	return decided, nil
}

// removeObject marks an object for deletion; one that nothing depends on goes at once.
func removeObject(txn *layout.Txn, object layout.Read[api.Object], now time.Time) {
	next := *object.Value
	key := layout.ObjectKey(next.Ref())
	txn.If(key, object.Modified)
	if len(next.Metadata.Finalizers) == 0 {
		txn.Delete(key)
		return
	}
	next.Metadata.Revision = 0
	next.Metadata.DeletedAt = &now
	next.Metadata.UpdatedAt = now
	txn.Put(key, next)
}
