package daemon

import (
	"context"

	"tend.dev/tend/internal/fault"
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
	orString(&d.Name, firstName)
	d.store = fault.Store(d.Store, d.Faults)
	return nil
}
