package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"time"
)

// errNotAnIssuer is returned for a text that holds no authority.
var errNotAnIssuer = errors.New("not the certificate and the key of an authority in PEM")

// The types of blocks in PEM.
const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "EC PRIVATE KEY"
)

// Issuer is an authority: its certificate, and the key that it signs with.
type Issuer struct {
	Root *x509.Certificate
	Key  *ecdsa.PrivateKey
}

// Validity is when a certificate is valid: from From less Skew, by which the clocks of machines may differ, for Life
// after From.
type Validity struct {
	From       time.Time
	Life, Skew time.Duration
}

// Found returns a new authority of a name, which signs no other authorities.
func Found(name string, v Validity) (Issuer, error) {
	key, err := NewKey()
	if err != nil {
		return Issuer{}, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := Issuer{template, key}.sign(template, key.Public(), v)
	if err != nil {
		return Issuer{}, err
	}
	root, err := x509.ParseCertificate(der)
	return Issuer{root, key}, err
}

// Sign returns the certificate of a public key, in DER. The template has its names and what it may be used for; it
// never makes an authority.
func (i Issuer) Sign(template *x509.Certificate, key any, v Validity) ([]byte, error) {
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.IsCA, template.BasicConstraintsValid = false, true
	return i.sign(template, key, v)
}

// Issue makes a key, and signs its certificate.
func (i Issuer) Issue(template *x509.Certificate, v Validity) (der []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = NewKey(); err != nil {
		return nil, nil, err
	}
	der, err = i.Sign(template, key.Public(), v)
	return der, key, err
}

func (i Issuer) sign(template *x509.Certificate, key any, v Validity) ([]byte, error) {
	// Int never fails: crypto/rand ends the process instead.
	template.SerialNumber, _ = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	template.NotBefore, template.NotAfter = v.From.Add(-v.Skew), v.From.Add(v.Life)
	return x509.CreateCertificate(rand.Reader, template, i.Root, key, i.Key)
}

// Decode reads an authority's certificate and then its key, in PEM, and returns the text after them.
func Decode(text []byte) (i Issuer, rest []byte, err error) {
	certificate, rest := pem.Decode(text)
	key, rest := pem.Decode(rest)
	if certificate == nil || key == nil {
		return Issuer{}, nil, errNotAnIssuer
	}
	if i.Root, err = x509.ParseCertificate(certificate.Bytes); err != nil {
		return Issuer{}, nil, err
	}
	if i.Key, err = x509.ParseECPrivateKey(key.Bytes); err != nil {
		return Issuer{}, nil, err
	}
	if !i.Key.PublicKey.Equal(i.Root.PublicKey) {
		return Issuer{}, nil, errNotAnIssuer
	}
	return i, rest, nil
}

// Encode returns the authority in the format of Decode. It is a secret.
func (i Issuer) Encode() ([]byte, error) {
	key, err := KeyPEM(i.Key)
	return append(CertificatePEM(i.Root.Raw), key...), err
}

// NewKey returns a new private key.
func NewKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// CertificatePEM returns a certificate in DER as PEM.
func CertificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der})
}

// KeyPEM returns a private key in PEM.
func KeyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: private}), nil
}
