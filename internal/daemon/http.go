package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/intent"
	"tend.dev/tend/internal/layout"
	"tend.dev/tend/internal/manifest"
	"tend.dev/tend/internal/secret"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/version"
)

func (d *daemon) buildServer() error {
	token, err := secret.Token(filepath.Join(d.Root, "token"))
	if err != nil {
		return err
	}
	d.server = server.New(server.Options{
		// etcd, the Go runtime and the process are in the library's default registry; ours is our own.
		View: d.view, Missing: d.missing, Registry: d.registry, Gather: prometheus.DefaultGatherer, Token: token, Version: version.Version, Logger: d.Logger,
		Decode: manifest.Decode, Containers: d.agent,
		Intents: intent.New(intent.Options{
			Store: d.store, Reader: intent.FromView{Store: d.store, View: d.view}, Validate: manifest.Validate,
			Preview: d.preview, Seal: d.keys.Encrypt, Logger: d.Logger,
		}),
	})
	return nil
}

// preview asks each kind's controller what it would do.
func (d *daemon) preview(snap layout.Snapshot, next []api.Object, deleted []api.Ref) ([]api.PlannedAction, error) {
	var out []api.PlannedAction
	for _, object := range next {
		planned, err := d.deployments.Preview(snap, object)
		if err != nil {
			return nil, fmt.Errorf("plan %s: %w", object.Ref(), err)
		}
		out = append(out, planned...)
	}
	for _, ref := range deleted {
		object := snap.Object(ref)
		if !object.Exists() {
			continue
		}
		going := *object.Value
		going.Metadata.DeletedAt = &going.Metadata.UpdatedAt
		planned, err := d.deployments.Preview(snap, going)
		if err != nil {
			return nil, fmt.Errorf("plan the deletion of %s: %w", ref, err)
		}
		out = append(out, planned...)
	}
	return out, nil
}

// listen opens the doors: the unix socket, whose permissions are its gate, and loopback, where a token is asked for.
func (d *daemon) listen(context.Context) error {
	socket, err := server.ListenUnix(filepath.Join(d.Root, "tend.sock"), os.FileMode(0o600))
	if err != nil {
		return err
	}
	d.doors = append(d.doors, server.Door{Listener: socket, Trusted: true})
	d.onStop(func() error { _ = socket.Close(); return nil }) // closed already where the server ran
	if d.HTTP == "off" {
		return nil
	}
	tcp, err := server.ListenLoopback(d.HTTP)
	if err != nil {
		return err
	}
	d.doors = append(d.doors, server.Door{Listener: tcp})
	d.onStop(func() error { _ = tcp.Close(); return nil })
	return nil
}
