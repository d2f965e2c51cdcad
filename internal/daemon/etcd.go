package daemon

import (
	"context"

	"tend.dev/tend/internal/store/etcd"
)

// openEtcd starts the embedded member. If the member fails, the server shuts down in its own order.
func (d *daemon) openEtcd(ctx context.Context) error {
	s, err := etcd.Open(ctx, etcd.Options{
		DataDir: d.Data, ClientURL: d.EtcdClient, PeerURL: d.EtcdPeer, Name: d.Name, MinFree: d.MinFree,
		Verbose: !d.QuietEtcd, Logger: d.Logger, OnFatal: d.fatal,
	})
	if err != nil {
		return err
	}
	d.Store = s
	d.onStop(s.Close)
	return nil
}
