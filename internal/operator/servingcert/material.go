package servingcert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/util/cert"
)

// The keys of the Secret. Those of the certificate are as in a Secret of the type kubernetes.io/tls.
const (
	keyAuthority   = "ca.crt" // what is to be trusted: the authority, then the one before
	keySigner      = "ca.key"
	keyCertificate = "tls.crt"
	keyKey         = "tls.key"
)

const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 90 * 24 * time.Hour
	// skew is by how much the clocks of the operator and of an API server may differ.
	skew = time.Hour
)

// Plan returns what the Secret must hold, and when to look again. stored is what it holds; what is good of it stays.
func Plan(stored map[string][]byte, names []string, now time.Time) (data map[string][]byte, again time.Time, err error) {
	authority, signer, leaf, err := parse(stored)
	if err == nil && leaf != nil && due(leaf).After(now) && covers(authority, leaf, names, now) {
		return stored, due(leaf), nil
	}
	data = map[string][]byte{}
	if err != nil || authority.NotAfter.Before(now.Add(certificateLife)) || authority.NotBefore.After(now) {
		if authority, signer, err = found(now); err != nil {
			return nil, time.Time{}, err
		}
		data[keyAuthority] = append(encode("CERTIFICATE", authority.Raw), first(stored[keyAuthority])...)
	} else {
		data[keyAuthority] = stored[keyAuthority]
	}
	private, err := x509.MarshalECPrivateKey(signer)
	if err != nil {
		return nil, time.Time{}, err
	}
	data[keySigner] = encode("EC PRIVATE KEY", private)
	if leaf, data[keyCertificate], data[keyKey], err = issue(authority, signer, names, now); err != nil {
		return nil, time.Time{}, err
	}
	return data, due(leaf), nil
}

// due returns when a certificate is to be renewed.
func due(leaf *x509.Certificate) time.Time { return leaf.NotAfter.Add(-certificateLife / 3) }

// covers returns whether an API server that trusts the authority accepts the certificate under all names.
func covers(authority, leaf *x509.Certificate, names []string, now time.Time) bool {
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	for _, name := range names {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now}); err != nil {
			return false
		}
	}
	return true
}

// parse reads the authority, its key, and the certificate, which is nil if it can't be used.
func parse(stored map[string][]byte) (authority *x509.Certificate, signer *ecdsa.PrivateKey, leaf *x509.Certificate, err error) {
	if _, err := cert.ParseCertsPEM(stored[keyAuthority]); err != nil { // the API server takes all of them or none
		return nil, nil, nil, err
	}
	pair, err := tls.X509KeyPair(first(stored[keyAuthority]), stored[keySigner])
	if err != nil {
		return nil, nil, nil, err
	}
	signer, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, nil, nil, errors.New("the authority's key is of another kind")
	}
	if served, err := tls.X509KeyPair(stored[keyCertificate], stored[keyKey]); err == nil {
		leaf = served.Leaf
	}
	return pair.Leaf, signer, leaf, nil
}

// first returns the first certificate of a text in PEM, in PEM; nil if it begins with anything else.
func first(text []byte) []byte {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != cert.CertificateBlockType {
		return nil
	}
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return encode(cert.CertificateBlockType, authority.Raw)
}

func found(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: fmt.Sprintf("tend-operator webhooks, %s", now.UTC().Format(time.DateOnly))},
		NotBefore: now.Add(-skew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	authority, err := x509.ParseCertificate(der)
	return authority, key, err
}

// issue makes a certificate and its key, both in PEM.
func issue(authority *x509.Certificate, signer *ecdsa.PrivateKey, names []string, now time.Time) (leaf *x509.Certificate, certificate, private []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: names[0]},
		NotBefore: now.Add(-skew), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if address := net.ParseIP(name); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), signer)
	if err != nil {
		return nil, nil, nil, err
	}
	if leaf, err = x509.ParseCertificate(der); err != nil {
		return nil, nil, nil, err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	return leaf, encode("CERTIFICATE", der), encode("EC PRIVATE KEY", encoded), err
}

func serial() *big.Int {
	bytes := make([]byte, 16)
	_, _ = rand.Read(bytes) // it never fails
	return new(big.Int).SetBytes(bytes)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// same returns whether two Secrets hold the same.
func same(a, b map[string][]byte) bool {
	for _, key := range []string{keyAuthority, keySigner, keyCertificate, keyKey} {
		if !bytes.Equal(a[key], b[key]) {
			return false
		}
	}
	return true
}
