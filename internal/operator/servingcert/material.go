package servingcert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"

	"tend.dev/tend/internal/platform/pki"
)

// The keys of the Secret. Those of the certificate are as in a Secret of type kubernetes.io/tls.
const (
	keyAuthority   = "ca.crt" // the trusted certificates: the authority, then the previous one
	keySigner      = "ca.key"
	keyCertificate = "tls.crt"
	keyKey         = "tls.key"
)

const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 90 * 24 * time.Hour
	// skew is the largest difference between the clocks of the operator and an API server.
	skew = time.Hour
)

// Plan returns what the Secret must hold, and when to plan again. It keeps the valid parts of stored, the current
// contents.
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

// due returns when a certificate must be renewed.
func due(leaf *x509.Certificate) time.Time { return leaf.NotAfter.Add(-certificateLife / 3) }

// covers reports whether an API server that trusts the authority accepts the certificate under all names.
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

// parse returns the authority, and the certificate or nil if it is unusable.
func parse(stored map[string][]byte) (authority pki.Issuer, leaf *x509.Certificate, err error) {
	if _, err := cert.ParseCertsPEM(stored[keyAuthority]); err != nil { // the API server accepts all of them or none
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

// first returns the first certificate of a PEM text, in PEM, or nil if the text starts with anything else.
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

// issue creates a certificate and its key, both in PEM.
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

// same reports whether two Secrets have equal contents.
func same(a, b map[string][]byte) bool {
	return !slices.ContainsFunc([]string{keyAuthority, keySigner, keyCertificate, keyKey}, func(key string) bool {
		return !bytes.Equal(a[key], b[key])
	})
}
