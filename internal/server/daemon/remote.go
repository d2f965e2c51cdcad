package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/platform/portowner"
	"tend.dev/tend/internal/server"
)

// remoteListener is the listener of the API for people on other machines. The zero value doesn't listen.
type remoteListener struct {
	url string
	// authority is the cluster's own authority if that issues the certificate.
	authority *authority.Authority
}

// remoteAccess returns where other machines reach the API, and the authority that their tokens pin.
func (d *daemon) remoteAccess() (url, fingerprint string) {
	if d.remote.authority != nil {
		fingerprint = d.remote.authority.Fingerprint()
	}
	return d.remote.url, fingerprint
}

// listenRemote opens the listener for people on other machines, if the options ask for one.
func (d *daemon) listenRemote(context.Context) error {
	if d.Listen == "" {
		return nil
	}
	certificate, err := d.remoteCertificate()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", d.Listen)
	if err != nil {
		return portowner.Refused(d.Listen, "--listen", err)
	}
	d.onStop(func() error { _ = listener.Close(); return nil }) // closed already if the server ran
	d.remote.url = "https://" + reachable(listener.Addr().String(), d.peerHost)
	d.endpoints = append(d.endpoints, server.Endpoint{Listener: listener, TLS: &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate() },
	}})
	d.Logger.Info("answering other machines", "url", d.remote.url)
	return nil
}

// remoteCertificate returns the source of that listener's certificate: the user's files, or the cluster's own
// authority.
func (d *daemon) remoteCertificate() (certificate func() (*tls.Certificate, error), err error) {
	if d.remote.authority != nil {
		return renewing(d.Now, d.remote.authority.Fingerprint, d.remote.authority.Server), nil
	}
	files := &certificateFiles{certificate: d.TLSCert, key: d.TLSKey, logger: d.Logger}
	if _, err := files.current(); err != nil {
		return nil, fmt.Errorf("the certificate of --listen: %w: check --tls-cert and --tls-key", err)
	}
	return files.current, nil
}

// openRemoteAuthority opens the cluster's own authority if it issues that listener's certificate. It is the authority
// of nodes, so that one fingerprint is valid for all servers.
func (d *daemon) openRemoteAuthority(ctx context.Context) (err error) {
	switch {
	case d.Listen == "" || d.TLSCert != "":
	case d.nodeListener != nil:
		d.remote.authority = d.nodeListener.desk.Authority
	default:
		d.remote.authority, err = openAuthority(ctx, d.store, d.keys, d.cluster.UID, d.Now)
	}
	return err
}
