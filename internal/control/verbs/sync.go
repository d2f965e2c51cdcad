package verbs

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
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

// record adds what the apply of a sync changes, so that it is known also if the server ends before the status says it.
func (d *applyDecision) record(opts ApplyOptions, now time.Time) {
	if opts.Sync == nil {
		return
	}
	done := api.Synced{UID: opts.Sync.Metadata.UID, Revision: opts.SyncRevision, At: now}
	add := func(ref api.Ref, action string) {
		if len(done.Changes) == api.MaxSyncChanges {
			done.More++
			return
		}
		done.Changes = append(done.Changes, api.SyncChange{Object: ref, Action: action})
	}
	for _, one := range d.result.Objects {
		if one.Action != api.ActionUnchanged {
			add(one.Ref, string(one.Action))
		}
	}
	for _, ref := range d.result.Pruned {
		add(ref, api.ActionPruned)
	}
	for _, ref := range d.result.Withdrawn {
		add(ref, api.ActionWithdrawn)
	}
	if len(done.Changes) > 0 {
		d.result.Synced = &done
		d.txn.Put(records.SyncedKey(opts.Sync.Name), done)
	}
}

// The source of a sync is polled at once. Its status has the answer's revision as ObservedRevision when that is done.
var _ = Declare(verb.Verb{
	Name: "poll", Summary: "Poll the source of a sync at once", Rule: access.Admins("sync now"), Kind: api.KindSync,
}, Decided(Fits{Kind: api.KindSync, Not: "is not a sync", Next: "`tend sync` lists what there is"}, "sync",
	func(a Asked[struct{}]) (*Decision[api.VerbResult], error) {
		return a.Stamped("sync", func(stamps map[string]string) {
			stamps[api.StampSync] = nextNonce(stamps[api.StampSync])
		}), nil
	}))
