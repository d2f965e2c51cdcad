package verbs

import (
	"context"
	"maps"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// setRights sets the rights of the source, or of the person, that applies.
func (o *ApplyOptions) setRights(ctx context.Context) error {
	if o.Sync == nil {
		o.rights = RightsOf(ctx)
		return nil
	}
	spec, err := api.DecodeSpec[api.SyncSpec](*o.Sync)
	o.rights = source.RightsOf(spec)
	return err
}

// confined reports whether what is called for the objects must stay away from this machine.
func (o ApplyOptions) confined() bool { return !o.rights.Trusted }

// checkSync refuses the apply of a sync that is gone, or was declared otherwise since it was read. The transaction
// compares the sync too: none that is decided before its end is applied after it.
func (o ApplyOptions) checkSync(snap records.Snapshot, txn *records.Txn) error {
	if o.Sync == nil {
		return nil
	}
	ref := o.Sync.Ref()
	stored := snap.Object(ref)
	switch {
	case !stored.Exists() || stored.Value.Metadata.UID != o.Sync.Metadata.UID || stored.Value.Metadata.Deleting():
		return notFound("`tend sync` lists what there is", "%s is gone; nothing was stored", ref)
	case stored.Value.Metadata.Generation != o.Sync.Metadata.Generation:
		return &Error{Reason: Busy, Detail: ref.String() + " was changed; nothing was stored",
			Next: "its source is polled again, and then applied"}
	}
	txn.If(records.ObjectKey(ref), stored.Modified)
	return nil
}

// SyncNow has the source of a sync polled at once. The status has the answer's revision as ObservedRevision when that
// is done.
func (s *Service) SyncNow(ctx context.Context, target Target, actor string) (api.VerbResult, error) {
	if target.Kind != "" && target.Kind != api.KindSync {
		return api.VerbResult{}, invalid("`tend sync` lists what there is", "%s is not a sync", target)
	}
	target.Kind = api.KindSync
	return s.verb(ctx, "sync", FieldManager{Actor: actor}, func(snap records.Snapshot) (*verbDecision, error) {
		object, err := target.findLive(snap)
		if err != nil {
			return nil, err
		}
		next := *object.Value
		if next.Metadata.Stamps = maps.Clone(next.Metadata.Stamps); next.Metadata.Stamps == nil {
			next.Metadata.Stamps = map[string]string{}
		}
		next.Metadata.Stamps[api.StampSync] = nextNonce(next.Metadata.Stamps[api.StampSync])
		decided := unchanged("sync", object)
		decided.write(object, next, s.opts.Now())
		return decided, nil
	})
}
