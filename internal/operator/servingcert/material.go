package servingcert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"time"

	"k8s.io/client-go/util/cert"

	"tend.dev/tend/internal/pki"
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
func Plan(
	stored map[string][]byte, names []string, now time.Time,
) (data map[string][]byte, again time.Time, err error) {
	authority, leaf, err := parse(stored)
	if err == nil && leaf != nil && due(leaf).After(now) && covers(authority.Root, leaf, names, now) {
		return stored, due(leaf), nil
	}
	data = map[string][]byte{}
	if err != nil || authority.Root.NotAfter.Before(now.Add(certificateLife)) || authority.Root.NotBefore.After(now) {
		name := fmt.Sprintf("tend-operator webhooks, %s", now.UTC().Format(time.DateOnly))
		if authority, err = pki.Found(name, pki.Validity{From: now, Life: authorityLife, Skew: skew}); err != nil {
			return nil, time.Time{}, err
		}
		data[keyAuthority] = append(pki.CertificatePEM(authority.Root.Raw), first(stored[keyAuthority])...)
	} else {
		data[keyAuthority] = stored[keyAuthority]
	}
	if data[keySigner], err = pki.KeyPEM(authority.Key); err != nil {
		return nil, time.Time{}, err
	}
	if leaf, data[keyCertificate], data[keyKey], err = issue(authority, names, now); err != nil {
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

// parse reads the authority, and the certificate, which is nil if it can't be used.
func parse(stored map[string][]byte) (authority pki.Issuer, leaf *x509.Certificate, err error) {
	if _, err := cert.ParseCertsPEM(stored[keyAuthority]); err != nil { // the API server takes all of them or none
		return authority, nil, err
	}
	if authority, _, err = pki.Decode(append(first(stored[keyAuthority]), stored[keySigner]...)); err != nil {
		return authority, nil, err
	}
	if served, err := tls.X509KeyPair(stored[keyCertificate], stored[keyKey]); err == nil {
		leaf = served.Leaf
	}
	return authority, leaf, nil
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
	return pki.CertificatePEM(authority.Raw)
}

// issue makes a certificate and its key, both in PEM.
func issue(
	authority pki.Issuer, names []string, now time.Time,
) (leaf *x509.Certificate, certificate, private []byte, err error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if address := net.ParseIP(name); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, key, err := authority.Issue(template, pki.Validity{From: now, Life: certificateLife, Skew: skew})
	if err != nil {
		return nil, nil, nil, err
	}
	if leaf, err = x509.ParseCertificate(der); err != nil {
		return nil, nil, nil, err
	}
	private, err = pki.KeyPEM(key)
	return leaf, pki.CertificatePEM(der), private, err
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
