package pki

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

// TestIssue: a certificate is accepted from Skew before its begin to its end, and only if its authority is trusted.
func TestIssue(t *testing.T) {
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	long := Validity{From: noon, Life: 1000 * time.Hour, Skew: 2 * time.Hour}
	root, other := found(t, long), found(t, long)
	web := &x509.Certificate{DNSNames: []string{"web"}}
	der, key, err := root.Issue(web, Validity{From: noon, Life: 5 * time.Hour, Skew: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil || !key.PublicKey.Equal(leaf.PublicKey) {
		t.Fatal("the key is of another certificate", err)
	}
	for name, test := range map[string]struct {
		by   Issuer
		name string
		at   time.Duration
		want bool
	}{
		"at first": {root, "web", -time.Hour, true}, "too early": {root, "web", -time.Hour - time.Second, false},
		"at last": {root, "web", 5 * time.Hour, true}, "too late": {root, "web", 5*time.Hour + time.Second, false},
		"another authority": {other, "web", 0, false}, "another name": {root, "db", 0, false},
	} {
		pool := x509.NewCertPool()
		pool.AddCert(test.by.Root)
		_, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: test.name, CurrentTime: noon.Add(test.at)})
		if (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDecode: an authority survives as text, several stand behind each other, and anything else is refused.
func TestDecode(t *testing.T) {
	v := Validity{From: time.Now(), Life: time.Hour}
	a, b := encoded(t, found(t, v)), encoded(t, found(t, v))
	first, rest, err := Decode(append(bytes.Clone(a), b...))
	if err != nil || !bytes.Equal(rest, b) || !bytes.Equal(encoded(t, first), a) {
		t.Error("the first of two:", err)
	}
	certificate := CertificatePEM(first.Root.Raw)
	for name, text := range map[string][]byte{
		"nothing": nil, "no key": certificate, "the key first": append(bytes.Clone(a[len(certificate):]), certificate...),
		"the key of another": append(bytes.Clone(certificate), b[bytes.Index(b, []byte("-----BEGIN "+keyBlock)):]...),
	} {
		if _, _, err := Decode(text); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}

func found(t *testing.T, v Validity) Issuer {
	t.Helper()
	i, err := Found("test", v)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func encoded(t *testing.T, i Issuer) []byte {
	t.Helper()
	text, err := i.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
