package daemon

import (
	"context"
	"errors"

	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/store/etcd"
)

// openEtcd starts the embedded member. If the member fails later, the server shuts down in order.
func (d *daemon) openEtcd(ctx context.Context) error {
	peers, err := d.openPeers(ctx)
	if err != nil {
		return err
	}
	if err := d.rememberName(); err != nil {
		return err
	}
	s, err := etcd.Open(ctx, etcd.Options{
		Peers:   peers,
		DataDir: d.Data, ClientURL: d.EtcdClient, PeerURL: d.EtcdPeer, Name: d.Name, MinFree: d.MinFree,
		Verbose: !d.QuietEtcd, Logger: d.Logger, OnFatal: d.storeFailed,
	})
	if errors.Is(err, etcd.ErrRemoved) {
		return d.removed()
	}
	if err != nil {
		return err
	}
	d.Store, d.etcd = s, s
	d.onStop(s.Close)
	if settings, known, err := d.readPeers(); err != nil || known && settings.State == membership.Added {
		return errors.Join(err, d.recordState(membership.Joining))
	}
	return nil
}
