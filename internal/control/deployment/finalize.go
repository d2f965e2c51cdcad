package deployment

import (
	"context"
	"time"

	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/layout"
)

// maxLeftovers bounds what one commit of a deletion takes away.
const maxLeftovers = 5000

// finalize removes the object with everything that is kept under its name, once no task is left. The object goes with
// the last commit: until then the deletion can go on from wherever it was interrupted.
func (c *Controller) finalize(ctx context.Context, s layout.Snapshot, o observed) (engine.Result, error) {
	txn := layout.NewTxn("deployment.finalize").If(layout.ObjectKey(o.ref), o.object.Modified)
	left := leftovers(s, o)
	if len(left) > maxLeftovers {
		for _, key := range left[:maxLeftovers] {
			txn.Delete(key)
		}
		revision, err := txn.Commit(ctx, c.Store)
		return engine.Result{Revision: revision, After: time.Millisecond}, err
	}
	for _, key := range left {
		txn.Delete(key)
	}
	txn.Delete(layout.ObjectKey(o.ref)).Delete(layout.StatusKey(o.ref)).Delete(layout.ImageKey(o.ref))
	if claim := s.NameOwner(o.ref); claim.Exists() && *claim.Value == o.ref {
		key := layout.NameKey(o.ref)
		txn.If(key, claim.Modified).Delete(key)
	}
	revision, err := txn.Commit(ctx, c.Store)
	if err == nil {
		c.Logger.Info("deleted", "object", o.ref.String())
	}
	return engine.Result{Revision: revision}, err
}

// leftovers are the keys of an object's releases, frozen marks and slots.
func leftovers(s layout.Snapshot, o observed) []string {
	var out []string
	for _, prefix := range []string{layout.ReleasePrefix(o.ref), layout.FrozenSetPrefix(o.ref), layout.SlotKey(o.ref, "")} {
		for record := range s.Prefix(prefix) {
			out = append(out, record.Key)
		}
	}
	return out
}
