package daemon

import (
	"context"
	"path/filepath"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/remote"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/server/rotation"
	"tend.dev/tend/internal/store/certstore"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
)

// openKeys creates the service that rotates the cluster's keys.
func (d *daemon) openKeys(context.Context) error {
	nodes := &rotation.Nodes{Cluster: d.cluster.UID, Encrypt: d.keys.Encrypt, Decrypt: d.keys.Decrypt,
		Cut: d.links.cutAll, Now: d.Now}
	if nodes.Authority = d.remote.authority; d.nodeListener != nil {
		nodes.Authority = d.nodeListener.desk.Authority
	}
	d.rotation = rotation.New(rotation.Options{
		Store: d.store, Snapshot: d.snapshot, Server: d.Name,
		Servers: func() []api.Server { return d.servers().Items }, Now: d.Now, Logger: d.Logger,
		Keys: []rotation.Key{
			rotation.Secrets{Keys: d.keys, Retire: d.machineKeys.Add}, nodes,
			rotation.Servers{Identity: d.peers, Encrypt: d.keys.Encrypt, Decrypt: d.keys.Decrypt, Now: d.Now},
			&rotation.Ingress{Certificates: certstore.New(d.store, d.keys), Encrypt: d.keys.Encrypt,
				Decrypt: d.keys.Decrypt, Now: d.Now},
		},
	})
	return nil
}

// openMachineKeys opens the keys that encrypt data for this machine alone. In earlier versions the cluster's keys did.
func (d *daemon) openMachineKeys() (err error) {
	d.machineKeys, err = secret.Open(filepath.Join(d.Root, "machine.key"), "")
	return err
}

// openSealed decrypts data that this machine has encrypted.
func (d *daemon) openSealed(sealed []byte) ([]byte, error) {
	if plain, err := d.machineKeys.Decrypt(sealed); err == nil {
		return plain, nil
	}
	return d.keys.Decrypt(sealed)
}

// followKeys does this server's part when a key is rotated, until ctx ends.
func (d *daemon) followKeys(ctx context.Context) error {
	if d.awaitView(ctx) {
		return d.rotation.Follow(ctx)
	}
	return nil
}

// keepKeys advances the rotations of keys until ctx ends. It runs during a term of this server.
func (d *daemon) keepKeys(ctx context.Context, term *controlplane.Term) {
	if d.awaitView(ctx) {
		d.rotation.Lead(ctx, term)
	}
}

// awaitView waits until the view is complete, and reports whether it is; false if ctx ends first.
func (d *daemon) awaitView(ctx context.Context) bool {
	select {
	case <-d.view.Synced():
		return true
	case <-ctx.Done():
		return false
	}
}

// rotateKey begins the rotation of a key.
func (d *daemon) rotateKey(ctx context.Context, name, by string) error {
	revision, err := d.rotation.Begin(ctx, name, by)
	if err != nil {
		return err
	}
	return d.view.WaitFor(ctx, revision)
}

// keyList returns the keys of the cluster.
func (d *daemon) keyList() []api.Key { return d.rotation.List() }

// roots records which authorities a node trusts, and returns those that it should trust.
func (d *daemon) roots(ctx context.Context, node string, has remote.Trust) []string {
	member := d.snapshot().Member(node)
	if len(has.Roots) > 0 && member.Exists() &&
		(member.Value.Issuer != has.Issuer || !slices.Equal(member.Value.Roots, has.Roots)) {
		next, key := *member.Value, records.MemberKey(node)
		next.Roots, next.Issuer = has.Roots, has.Issuer
		if _, err := records.NewTxn("member.trust").If(key, member.Modified).Put(key, next).Commit(ctx, d.store); err != nil {
			d.Logger.DebugContext(ctx, "the authorities that a node trusts were not recorded; it reports them again", "node", node, "error", err)
		}
	}
	return d.nodeListener.desk.Authority.Fingerprints()
}
