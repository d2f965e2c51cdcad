package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/board"
	"tend.dev/tend/internal/control/environment"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/input/manifest"
	"tend.dev/tend/internal/platform/version"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/secret"
)

// registerPaths registers the paths of the API while the store waits for its disk and its election.
func (d *daemon) registerPaths(context.Context) error {
	d.registering.Go(func() { d.paths = server.Register(version.Version) })
	d.onStop(func() error { d.registering.Wait(); return nil })
	return nil
}

func (d *daemon) buildServer() error {
	token, err := secret.Token(filepath.Join(d.Root, "token"))
	if err != nil {
		return err
	}
	d.verbs = d.newVerbs()
	if d.plugins, err = d.buildPlugins(); err != nil {
		return err
	}
	if d.Backups.Schedule != "" {
		d.backups.metrics = newBackupMetrics(d.Registry)
	}
	d.auditor = d.newAuditor()
	d.registering.Wait()
	d.server = server.New(server.Options{
		Paths: d.paths,
		// etcd, the Go runtime and the process are in the library's default registry; Tend's own metrics have one of
		// their own.
		View: d.view, Events: d.events, Audit: d.audit, Auditor: d.auditor, Missing: d.missing, Node: d.Node, Full: d.full,
		Alone:    d.aloneSince(),
		Registry: d.Registry, Gather: prometheus.DefaultGatherer, Token: token, Version: version.Version,
		Logger: d.Logger, Tracer: d.Tracer,
		Decode: manifest.Decode, Nodes: &d.fleet, Blobs: d.files.blobs, MaxBlob: d.Build.MaxTar(), Join: d.joinToken,
		JoinTokens: d.joinTokens, RevokeToken: d.revokeToken,
		InviteCluster: d.inviteCluster, ClusterLogs: d.clusterLogs,
		Servers: d.serversAsked, RemoveServer: d.removeServer, Authority: d.authority(),
		Verbs: d.verbs, Plugins: d.plugins, MAC: d.keys.CallbackMAC, Keys: d.keyList, RotateKey: d.rotateKey,
		Paused: d.pause.why, Resume: d.resume,
		HostPaths: d.HostMounts, Remote: d.remoteAccess, Local: func() string { return d.local },
		TestSink: d.testSink, Fresh: d.fresh(), Backup: d.backUp, BackupStatus: d.backupStatus,
	})
	return nil
}

// newVerbs creates the verbs that write the desired state.
func (d *daemon) newVerbs() *verbs.Service {
	environments, nodes := environment.New(d.keys), board.NewOf(d.aloneSince())
	return verbs.New(verbs.Options{
		Ports: d.tendPorts(),
		Store: d.store, Leases: d.store, Reader: verbs.FromView{Store: d.store, View: d.view}, Validate: manifest.Validate,
		Preview: d.preview, Seal: d.keys.Encrypt, Open: d.keys.Decrypt, EnvHash: environments.HashAfter,
		ConfigSince: environments.Since, Logger: d.Logger,
		MAC: d.keys.HMAC, Assets: d.files.library, Now: d.Now, Occupied: d.occupied, FindImage: d.nodes.FindImage,
		Rebalance: nodes.Rebalance, Impossible: nodes.Impossible,
	})
}

// preview asks each kind's controller for the actions that it would take.
func (d *daemon) preview(snap records.Snapshot, next []api.Object, deleted []api.Ref) ([]api.PlannedAction, error) {
	snap = snap.With(next) // objects of one apply may refer to each other
	var out []api.PlannedAction
	plan := func(object api.Object) error {
		planned, err := d.plane.Preview(snap, object)
		out = append(out, planned...)
		return err
	}
	for _, object := range next {
		if err := plan(object); err != nil {
			return nil, fmt.Errorf("plan %s: %w", object.Ref(), err)
		}
	}
	for _, ref := range deleted {
		object := snap.Object(ref)
		if !object.Exists() {
			continue
		}
		going := *object.Value
		going.Metadata.DeletedAt = &going.Metadata.UpdatedAt
		if err := plan(going); err != nil {
			return nil, fmt.Errorf("plan the deletion of %s: %w", ref, err)
		}
	}
	return out, nil
}

// listen opens the listeners: the unix socket, which its permissions protect, loopback, which requires a token, and the
// one for other machines, which requires TLS too.
func (d *daemon) listen(ctx context.Context) error {
	if d.Listener != nil {
		d.endpoints = append(d.endpoints, server.Endpoint{Listener: d.Listener, Trusted: true})
		return nil
	}
	socket, err := server.ListenUnix(filepath.Join(d.Root, "tend.sock"), os.FileMode(0o600))
	if err != nil {
		return err
	}
	d.endpoints = append(d.endpoints, server.Endpoint{Listener: socket, Trusted: true})
	d.onStop(func() error { _ = socket.Close(); return nil }) // closed already if the server ran
	if err := d.listenRemote(ctx); err != nil {
		return err
	}
	if d.HTTP == "off" {
		return nil
	}
	tcp, err := server.ListenLoopback(d.HTTP)
	if err != nil {
		return err
	}
	d.local = "http://" + tcp.Addr().String()
	d.endpoints = append(d.endpoints, server.Endpoint{Listener: tcp})
	d.onStop(func() error { _ = tcp.Close(); return nil })
	return nil
}
