package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// certificate is the certificate of all proxies, in PEM.
type certificate struct{ chain, key string }

// makeCertificate makes a certificate for secured and writes it into a folder, with its key, as both.pem.
func makeCertificate(dir string) (certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: secured}, DNSNames: []string{secured},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return certificate{}, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return certificate{}, err
	}
	c := certificate{
		chain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain})),
		key:   string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
	}
	return c, os.WriteFile(filepath.Join(dir, "both.pem"), []byte(c.chain+c.key), 0o600)
}
