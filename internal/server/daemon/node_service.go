package daemon

import (
	"tend.dev/tend/internal/node/ingress/certs"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/store/certstore"
)

// newNodes returns the control plane's side of the node protocol.
func (d *daemon) newNodes() *local.Service {
	certificates := certstore.New(d.store, d.keys)
	own, server := d.Node, ""
	if d.NoAgent {
		own = ""
	}
	if d.several() {
		server = d.Name
	}
	return local.New(local.Options{
		Store: d.store, View: d.view, Keys: d.keys, Blobs: d.files.open, ImageOf: d.image, FindOn: d.findOn,
		CallbackPath: d.callbackPath, Own: own, Timeout: d.NodeTimeout, FormerLeader: d.formerLeader(),
		Lease:     d.NodeTimeout - nodeapi.Gather(d.NodeTimeout, d.Heartbeat),
		Heartbeat: d.Heartbeat, Server: server, Life: d.life,
		Certificates: certificates, Sign: certs.Authority{Storage: certificates}.Sign,
	})
}
