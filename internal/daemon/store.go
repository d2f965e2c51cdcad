package daemon

import (
	"context"

	"tend.dev/tend/internal/fault"
)

// openStore opens the embedded etcd, or uses the given store.
func (d *daemon) openStore(ctx context.Context) error {
	if d.Store == nil {
		if err := d.openEtcd(ctx); err != nil {
			return err
		}
	}
	orString(&d.Name, firstName)
	d.store = fault.Store(d.Store, d.Faults)
	return nil
}
