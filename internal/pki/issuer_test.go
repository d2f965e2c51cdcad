package pki

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

// TestIssue: what an authority issued is accepted from Skew before its begin to its end, and by nobody who trusts another one.
func TestIssue(t *testing.T) {
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	long := Validity{From: noon, Life: 1000 * time.Hour, Skew: 2 * time.Hour}
	root, other := found(t, long), found(t, long)
	der, key, err := root.Issue(&x509.Certificate{DNSNames: []string{"web"}}, Validity{From: noon, Life: 5 * time.Hour, Skew: time.Hour})
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

// TestOnlyTheRootIssues: no authority lies below the root, whoever wrote the template or has the key of a leaf.
func TestOnlyTheRootIssues(t *testing.T) {
	v := Validity{From: time.Now(), Life: time.Hour, Skew: time.Minute}
	root := found(t, v)
	if r := root.Root; !r.IsCA || !r.BasicConstraintsValid || r.MaxPathLen != 0 || !r.MaxPathLenZero ||
		r.KeyUsage != x509.KeyUsageCertSign {
		t.Errorf("the root is an authority: %t, of paths as long as %d, for the usages %b", r.IsCA, r.MaxPathLen, r.KeyUsage)
	}
	der, key, err := root.Issue(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, v)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil || leaf.IsCA || leaf.KeyUsage != x509.KeyUsageDigitalSignature {
		t.Fatalf("a leaf is an authority: %t, for the usages %b, %v", leaf.IsCA, leaf.KeyUsage, err)
	}
	below, _, err := Issuer{leaf, key}.Issue(&x509.Certificate{DNSNames: []string{"web"}}, v)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := x509.ParseCertificate(below)
	if err != nil {
		t.Fatal(err)
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(root.Root)
	between.AddCert(leaf)
	if _, err := forged.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: "web"}); err == nil {
		t.Error("what the key of a leaf signed is accepted")
	}
}

// TestDecode: an authority survives as text, several stand behind each other, and what is no authority is refused.
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
