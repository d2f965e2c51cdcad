package daemon

import (
	"context"

	"tend.dev/tend/internal/observe/telemetry"
	"tend.dev/tend/internal/store/eventlog"
)

// openStore opens the embedded etcd or an external one, or uses the given store.
func (d *daemon) openStore(ctx context.Context) error {
	if d.Store == nil {
		open := d.openEtcd
		if len(d.External.Endpoints) > 0 {
			open = d.openExternal
		}
		if err := open(ctx); err != nil {
			return err
		}
	}
	orString(&d.Name, d.Node)
	d.storeMetrics = telemetry.NewStoreMetrics(d.Registry)
	measured := telemetry.Store(d.Store, d.storeMetrics)
	if d.AroundStore != nil {
		measured = d.AroundStore(measured)
	}
	recorder := eventlog.Record(measured, d.known, d.Now)
	recorder.Published = telemetry.NewEvents(d.Registry).Published
	d.store = pausable{recorder}
	return nil
}
