package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"tend.dev/tend/internal/server"
)

// remoteListener is the listener of the API for people on other machines. The zero value is none.
type remoteListener struct {
	url string
	// fingerprint is that of the cluster's own authority, if it issues the certificate.
	fingerprint string
}

// remoteAccess returns where other machines reach the API, and the authority that their tokens pin.
func (d *daemon) remoteAccess() (url, fingerprint string) { return d.remote.url, d.remote.fingerprint }

// listenRemote opens the listener for people on other machines, if there is to be one.
func (d *daemon) listenRemote(ctx context.Context) error {
	if d.Listen == "" {
		return nil
	}
	certificate, fingerprint, err := d.remoteCertificate(ctx)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", d.Listen)
	if err != nil {
		return fmt.Errorf("listen for people: %w: choose another --listen", err)
	}
	d.onStop(func() error { _ = listener.Close(); return nil }) // closed already if the server ran
	d.remote = remoteListener{url: "https://" + reachable(listener.Addr().String(), d.peerHost), fingerprint: fingerprint}
	d.endpoints = append(d.endpoints, server.Endpoint{Listener: listener, TLS: &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate() },
	}})
	d.Logger.Info("answering other machines", "url", d.remote.url)
	return nil
}

// remoteCertificate returns what answers with the certificate of that listener: of the user's files, or of the cluster's own
// authority, whose fingerprint it returns too.
func (d *daemon) remoteCertificate(ctx context.Context) (certificate func() (*tls.Certificate, error), fingerprint string, err error) {
	if d.TLSCert != "" {
		files := &certificateFiles{certificate: d.TLSCert, key: d.TLSKey, logger: d.Logger}
		if _, err := files.current(); err != nil {
			return nil, "", fmt.Errorf("the certificate of --listen: %w: check --tls-cert and --tls-key", err)
		}
		return files.current, "", nil
	}
	ca, err := openAuthority(ctx, d.store, d.keys, d.cluster.UID, d.Now)
	if err != nil {
		return nil, "", err
	}
	return renewing(d.Now, ca.Server), ca.Fingerprint(), nil
}
