package daemon

import (
	"context"
	"path/filepath"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/compat/plugin/broker"
	"tend.dev/tend/internal/input/manifest"
	"tend.dev/tend/internal/node/ingress/certs"
	"tend.dev/tend/internal/server"
)

// buildPlugins opens the plugins and creates the broker that calls them.
func (d *daemon) buildPlugins() (*broker.Broker, error) {
	socket, err := filepath.Abs(filepath.Join(d.Root, "tend.sock"))
	if err != nil {
		return nil, err
	}
	root, err := plugin.Open(plugin.Options{Dir: d.Plugins, Timeout: d.PluginTimeout, Node: d.Name, Etcd: d.EtcdClient,
		Server: "unix://" + socket})
	if root == nil {
		return nil, err
	}
	if err != nil { // without its plugins the server starts all the same
		d.Logger.Warn("the folder of plugins is not in order", "folder", d.Plugins, "error", err)
	}
	return broker.New(broker.Options{Root: root, Verbs: d.verbs, Snapshot: d.snapshot, Decode: manifest.Decode,
		Knows: manifest.HasField}), nil
}

// callbackPath returns the path at which the containers of an object call the server back; empty if they don't.
func (d *daemon) callbackPath(object api.Object) string {
	if !object.CallsBack() {
		return ""
	}
	return "/t/" + server.ContainerToken(d.keys.CallbackMAC, object)
}

// authority returns the function that returns the certificate of the ingresses' own authority; nil without a proxy.
func (d *daemon) authority() func(context.Context) ([]byte, error) {
	if !d.NoAgent && (d.Edge != nil || !d.Ingress.Wanted()) {
		return nil
	}
	return certs.Authority{Storage: d.nodes.Options.Certificates}.Root
}
