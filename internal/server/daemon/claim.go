package daemon

import (
	"context"
	"errors"

	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// claim reads the store's identity, and claims its controllers if no other server can have the store.
func (d *daemon) claim(ctx context.Context) error {
	if err := checkSchema(ctx, d.store); err != nil {
		return err
	}
	record, err := d.store.Get(ctx, records.ClusterKey)
	founding := errors.Is(err, store.ErrNotFound)
	if err := d.checkExternalCluster(ctx, record); err != nil {
		return err
	}
	if d.cluster, d.keys, err = identify(ctx, d.store, d.Root); err != nil {
		return d.explainKeys(err)
	}
	if err := d.openMachineKeys(); err != nil {
		return err
	}
	if err := d.rememberExternal(); err != nil {
		return err
	}
	if founding && d.used && d.external == nil {
		d.Logger.WarnContext(ctx, "this root was used before, but its store is gone: what ran from it is not touched; "+
			"restore the store from a backup, or find it with docker ps --filter label=tend.cluster",
			"data", d.Data, "cluster", d.cluster.UID)
	}
	if err := d.checkRestored(ctx); err != nil {
		return err
	}
	if d.several() {
		return nil // the term is claimed when no other server has it
	}
	term, err := d.begin(ctx)
	if err != nil {
		return err
	}
	if d.pause.why() == "" {
		if err := d.writeProgress(progress{Revision: term, Pause: d.lastPause}); err != nil {
			d.Logger.WarnContext(ctx, "the cluster's progress could not be stored", "error", err)
		}
	}
	return nil
}

// begin claims the controllers of a store that no other server can have, and returns the term's revision.
func (d *daemon) begin(ctx context.Context) (int64, error) {
	term, err := controlplane.Begin(ctx, d.store)
	if err != nil {
		return 0, err
	}
	d.term.Store(term)
	return term.Revision(), nil
}
