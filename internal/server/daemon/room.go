package daemon

import "tend.dev/tend/internal/store"

// stalled says that the store's disk finishes no write; it is empty if it does.
func (d *daemon) stalled() string {
	if d.etcd == nil {
		return ""
	}
	if err := d.etcd.Stalled(); err != nil {
		return err.Error()
	}
	return ""
}

// full says why the store takes no writes for lack of disk space, with what to do; it is empty if there is room.
func (d *daemon) full() string {
	if bounded, ok := d.Store.(store.Bounded); ok {
		if err := bounded.Room(); err != nil {
			return err.Error()
		}
	}
	return ""
}
