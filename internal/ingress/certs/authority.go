package certs

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"time"

	"github.com/caddyserver/certmagic"
)

// The lifetimes of the cluster's own certificates. A root is trusted by hand, so it lives long. A leaf is renewed
// automatically at two thirds of its lifetime.
const (
	rootLife = 10 * 365 * 24 * time.Hour
	leafLife = 7 * 24 * time.Hour
	// skew is how far another machine's clock may lag behind.
	skew = time.Hour
)

// The keys of the root in the storage. FormerRoot is there while the root is rotated: certificates that it signed are still served.
const (
	RootCertificate = "internal/root.crt"
	RootKey         = "internal/root.key"
	FormerRoot      = "internal/former.crt"
)

// Authority is the cluster's own certificate authority: one root for all servers, in their storage. Its key never leaves them.
type Authority struct {
	Storage certmagic.Storage
}

// Sign returns a certificate for the names of a request, in PEM. The caller says that they may have one.
func (a Authority) Sign(ctx context.Context, request *x509.CertificateRequest) ([]byte, error) {
	root, key, err := a.root(ctx)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	leaf := &x509.Certificate{
		SerialNumber: serial, DNSNames: request.DNSNames, NotBefore: now.Add(-skew), NotAfter: now.Add(leafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, leaf, root, request.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return block("CERTIFICATE", signed), nil
}

// Root returns the authority's certificate, in PEM, and below it the former one's while it is rotated.
func (a Authority) Root(ctx context.Context) ([]byte, error) {
	root, _, err := a.root(ctx)
	if err != nil {
		return nil, err
	}
	former, err := a.Storage.Load(ctx, FormerRoot)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return append(block("CERTIFICATE", root.Raw), former...), nil
}

// signer has the servers sign a node's certificates.
type signer struct {
	sign func(ctx context.Context, request []byte) ([]byte, error)
}

// IssuerKey implements certmagic.Issuer.
func (signer) IssuerKey() string { return Internal }

// Issue implements certmagic.Issuer.
func (s signer) Issue(ctx context.Context, request *x509.CertificateRequest) (*certmagic.IssuedCertificate, error) {
	if s.sign == nil {
		return nil, errors.New("there is no authority of the cluster's own")
	}
	certificate, err := s.sign(ctx, request.Raw)
	if err != nil {
		return nil, err
	}
	return &certmagic.IssuedCertificate{Certificate: certificate}, nil
}

// root reads the root, and makes it if there is none: under the storage's lock, so that two servers have the same.
func (a Authority) root(ctx context.Context) (*x509.Certificate, crypto.Signer, error) {
	if certificate, key, err := a.load(ctx); !errors.Is(err, fs.ErrNotExist) {
		return certificate, key, err
	}
	if err := a.Storage.Lock(ctx, "internal-root"); err != nil {
		return nil, nil, err
	}
	defer func() { _ = a.Storage.Unlock(context.WithoutCancel(ctx), "internal-root") }()
	if certificate, key, err := a.load(ctx); !errors.Is(err, fs.ErrNotExist) {
		return certificate, key, err
	}
	if err := a.make(ctx); err != nil {
		return nil, nil, err
	}
	return a.load(ctx)
}

func (a Authority) load(ctx context.Context) (*x509.Certificate, crypto.Signer, error) {
	certificatePEM, err := a.Storage.Load(ctx, RootCertificate)
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err := a.Storage.Load(ctx, RootKey)
	if err != nil {
		return nil, nil, err
	}
	certificateBlock, _ := pem.Decode(certificatePEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certificateBlock == nil || keyBlock == nil {
		return nil, nil, errors.New("the cluster's root certificate is damaged: restore it from a backup")
	}
	certificate, err := x509.ParseCertificate(certificateBlock.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("read the root certificate: %w", err)
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("read the root's key: %w", err)
	}
	return certificate, key, nil
}

// make writes a new root. It writes the key first: a certificate without a key would be taken for damage.
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

// NewRoot makes a root that signs from a time on: its certificate and its key, in PEM.
func NewRoot(now time.Time) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "Tend internal root " + now.UTC().Format("2006-01-02")},
		NotBefore: now.Add(-skew), NotAfter: now.Add(rootLife), IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	signed, err := x509.CreateCertificate(rand.Reader, root, root, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	return block("CERTIFICATE", signed), block("EC PRIVATE KEY", encoded), err
}

func block(kind string, data []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data})
}
