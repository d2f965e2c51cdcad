package certs

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/internal/platform/pki"
)

// The lifetimes of the cluster's own certificates. People install a root by hand, so it lives long. A leaf is renewed
// automatically at two thirds of its lifetime.
const (
	rootLife = 10 * 365 * 24 * time.Hour
	leafLife = 7 * 24 * time.Hour
	// skew bounds how far another machine's clock may be behind.
	skew = time.Hour
)

// The storage keys of the root. FormerRoot exists while the root is rotated: certificates that it signed are still
// served.
const (
	RootCertificate = "internal/root.crt"
	RootKey         = "internal/root.key"
	FormerRoot      = "internal/former.crt"
)

// Authority is the cluster's own certificate authority: one root for all servers, in their storage. Its key never
// leaves them.
type Authority struct {
	Storage certmagic.Storage
}

// Sign returns a certificate, in PEM, for the names of a request. The caller must have checked that the requester may
// have them.
func (a Authority) Sign(ctx context.Context, request *x509.CertificateRequest) ([]byte, error) {
	root, err := a.root(ctx)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{DNSNames: request.DNSNames, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	signed, err := root.Sign(template, request.PublicKey, pki.Validity{From: time.Now(), Life: leafLife, Skew: skew})
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return pki.CertificatePEM(signed), nil
}

// Root returns the authority's certificate in PEM, followed by the former one while the root is rotated.
func (a Authority) Root(ctx context.Context) ([]byte, error) {
	root, err := a.root(ctx)
	if err != nil {
		return nil, err
	}
	former, err := a.Storage.Load(ctx, FormerRoot)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return append(pki.CertificatePEM(root.Root.Raw), former...), nil
}

// signer is the issuer on a node: it makes the servers sign.
type signer struct {
	sign func(ctx context.Context, request []byte) ([]byte, error)
}

// IssuerKey implements certmagic.Issuer.
func (signer) IssuerKey() string { return Internal }

// Issue implements certmagic.Issuer.
func (s signer) Issue(ctx context.Context, request *x509.CertificateRequest) (*certmagic.IssuedCertificate, error) {
	if s.sign == nil {
		return nil, errors.New("the cluster has no certificate authority of its own")
	}
	certificate, err := s.sign(ctx, request.Raw)
	if err != nil {
		return nil, err
	}
	return &certmagic.IssuedCertificate{Certificate: certificate}, nil
}

// root reads the root, and creates a missing one under the storage's lock, so that all servers have the same.
func (a Authority) root(ctx context.Context) (pki.Issuer, error) {
	if root, err := a.load(ctx); !errors.Is(err, fs.ErrNotExist) {
		return root, err
	}
	if err := a.Storage.Lock(ctx, "internal-root"); err != nil {
		return pki.Issuer{}, err
	}
	defer func() { _ = a.Storage.Unlock(context.WithoutCancel(ctx), "internal-root") }()
	if root, err := a.load(ctx); !errors.Is(err, fs.ErrNotExist) {
		return root, err
	}
	if err := a.make(ctx); err != nil {
		return pki.Issuer{}, err
	}
	return a.load(ctx)
}

func (a Authority) load(ctx context.Context) (pki.Issuer, error) {
	certificate, err := a.Storage.Load(ctx, RootCertificate)
	if err != nil {
		return pki.Issuer{}, err
	}
	key, err := a.Storage.Load(ctx, RootKey)
	if err != nil {
		return pki.Issuer{}, err
	}
	root, _, err := pki.Decode(slices.Concat(certificate, key))
	if err != nil {
		return pki.Issuer{}, fmt.Errorf("the cluster's root certificate is damaged: %w: restore it from a backup", err)
	}
	return root, nil
}

// make writes a new root. It writes the key first: a certificate without a key would look damaged.
func (a Authority) make(ctx context.Context) error {
	certificate, key, err := NewRoot(time.Now())
	if err != nil {
		return err
	}
	if err := a.Storage.Store(ctx, RootKey, key); err != nil {
		return err
	}
	return a.Storage.Store(ctx, RootCertificate, certificate)
}

// NewRoot creates a root that is valid from now, and returns its certificate and key in PEM.
func NewRoot(now time.Time) (certificate, key []byte, err error) {
	name := "Tend internal root " + now.UTC().Format(time.DateOnly)
	root, err := pki.Found(name, pki.Validity{From: now, Life: rootLife, Skew: skew})
	if err != nil {
		return nil, nil, err
	}
	key, err = pki.KeyPEM(root.Key)
	return pki.CertificatePEM(root.Root.Raw), key, err
}
