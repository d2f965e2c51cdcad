package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/node/peer"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
)

// openExternal uses an etcd that the user runs, instead of a member in this process.
func (d *daemon) openExternal(ctx context.Context) error {
	unlock, err := etcd.Claim(d.Data) // only one server uses a root, as with a member
	if err != nil {
		return err
	}
	d.onStop(unlock)
	settings, known, err := d.readPeers()
	if err != nil {
		return err
	}
	if err := d.checkExternalRoot(settings, known); err != nil {
		return err
	}
	if err := d.chooseName(settings, known); err != nil {
		return err
	}
	if d.Join != "" && !known {
		if err := d.joinExternal(ctx); err != nil {
			return errors.Join(err, d.forget())
		}
	}
	if err := d.rememberName(); err != nil {
		return err
	}
	d.External.Logger = d.Logger
	s, err := etcd.Connect(ctx, d.External)
	if err != nil {
		return err
	}
	d.Store, d.external = s, s
	d.onStop(s.Close)
	return nil
}

// checkExternalRoot returns an error if the root belongs to a cluster whose store was in its servers.
func (d *daemon) checkExternalRoot(settings peer.Settings, known bool) error {
	clusters, _ := os.ReadDir(filepath.Join(d.Root, "clusters"))
	if d.hasMember() || settings.Cluster == "" && (known || len(clusters) > 0) {
		return fmt.Errorf("--etcd-endpoints: the cluster of %s is in the etcd inside tend server: "+
			"leave the flag out, or start a new cluster with an empty --root", d.Root)
	}
	return nil
}

// hasMember reports whether the root holds a store, by its log: without the log, the other files are useless.
func (d *daemon) hasMember() bool {
	found, _ := filepath.Glob(filepath.Join(d.Data, "member", "wal", "*.wal"))
	return len(found) > 0
}

// errExternalRoot returns the error for a root whose cluster is in an external etcd, if it is started without one.
func (d *daemon) errExternalRoot(settings peer.Settings) error {
	return fmt.Errorf("%s belongs to the cluster %s in an external etcd: give --etcd-endpoints as before, or start a new cluster with an empty --root", d.Root, settings.Cluster)
}

// joinExternal fetches the cluster's keys from one of its servers.
func (d *daemon) joinExternal(ctx context.Context) error {
	server, err := join.ServerURL(d.Join)
	if err != nil {
		return err
	}
	d.Logger.InfoContext(ctx, "joining the servers of a cluster", "through", server, "server", d.Name)
	given, err := join.JoinServer(ctx, nil, server, d.Token, d.asServer(d.Name))
	if err != nil {
		return err
	}
	if err := secret.Keep(filepath.Join(d.Root, "secret.key"), given.Keys); err != nil {
		return err
	}
	return d.writePeers(peer.Settings{Name: d.Name, Cluster: given.Cluster})
}

// checkExternalCluster returns an error if the external etcd holds another cluster than this root's, before it could
// create a new one there, or if another server with this one's name runs.
func (d *daemon) checkExternalCluster(ctx context.Context, record store.Entry) error {
	if d.external == nil {
		return nil
	}
	settings, _, err := d.readPeers()
	if err != nil {
		return err
	}
	var found records.Cluster
	if record.Value != nil {
		if err := json.Unmarshal(record.Value, &found); err != nil {
			return fmt.Errorf("decode the cluster's record: %w", err)
		}
	}
	if settings.Cluster != "" && found.UID != settings.Cluster {
		holds := "holds no cluster"
		if found.UID != "" {
			holds = "holds the cluster " + found.UID
		}
		return fmt.Errorf("%s belongs to the cluster %s, and the etcd at %s %s: check --etcd-endpoints and --etcd-prefix, or start with an empty --root", d.Root, settings.Cluster, d.external, holds)
	}
	return d.checkNameIsFree(ctx)
}

// checkNameIsFree waits until no other server has this one's name: after a kill, this server's own presence ends soon.
func (d *daemon) checkNameIsFree(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, controlplane.ElectionTTL*3/2)
	defer cancel()
	ticker := time.NewTicker(controlplane.ElectionTTL / 12)
	defer ticker.Stop()
	for {
		_, err := d.store.Get(ctx, records.ServerKey(d.Name))
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("read the servers of the cluster: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("another server called %s runs on the etcd at %s: choose another --name", d.Name, d.external)
		case <-ticker.C:
		}
	}
}

// rememberExternal stores in the root which cluster it belongs to, once the cluster's identity is known.
func (d *daemon) rememberExternal() error {
	if d.external == nil {
		return nil
	}
	return d.writePeers(peer.Settings{Name: d.Name, Cluster: d.cluster.UID})
}

// explainKeys adds the next step to an error about keys that don't fit the cluster in an external etcd.
func (d *daemon) explainKeys(err error) error {
	if d.external == nil || !errors.Is(err, secret.ErrKeyMissing) && !errors.Is(err, secret.ErrKeyMismatch) {
		return err
	}
	return fmt.Errorf("the etcd at %s holds a cluster whose keys this root doesn't have: to become one of its servers, join with an empty --root "+
		"(tend nodes add --server prints the command), for a new cluster give another --etcd-prefix: %w", d.external, err)
}

// externalServers returns the running servers of a cluster in an external etcd.
func (d *daemon) externalServers() api.Servers {
	out := api.Servers{Items: []api.Server{}, Quorum: d.quorum()}
	holder, _ := d.snapshot().Get(controlplane.ElectionKey)
	leader := controlplane.Leader(holder.Value)
	running := d.presences()
	if running[d.Name] == nil {
		running[d.Name] = &api.ServerPresence{}
	}
	for name, presence := range running {
		s := api.Server{Name: name, State: api.ServerUp, Address: presence.Address, Version: presence.Version,
			Since: presence.Since}
		if out.Quorum != "" && name != d.Name {
			s.State = api.ServerUnknown
		}
		s.Leads = out.Quorum == "" && name == leader
		out.Items = append(out.Items, s)
	}
	slices.SortFunc(out.Items, func(a, b api.Server) int { return strings.Compare(a.Name, b.Name) })
	return out
}
