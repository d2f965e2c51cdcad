package daemon

import "tend.dev/tend/internal/store"

// stalled returns the reason while the store's disk finishes no write, else "".
func (d *daemon) stalled() string {
	if d.etcd == nil {
		return ""
	}
	if err := d.etcd.Stalled(); err != nil {
		return err.Error()
	}
	return ""
}

// full returns the reason, with the next step, while the store refuses writes for lack of disk space, else "".
func (d *daemon) full() string {
	if bounded, ok := d.Store.(store.Bounded); ok {
		if err := bounded.Room(); err != nil {
			return err.Error()
		}
	}
	return ""
}
