package peer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"tend.dev/tend/internal/node/nodeapi/authority"
)

// Trusted returns the fingerprints of the authorities that this server trusts in connections to others, as of its
// start.
func (i *Identity) Trusted() []string { return i.trusted }

// Issuer returns the fingerprint of the authority that issues this server's next certificate.
func (i *Identity) Issuer() string { return i.issuing().Fingerprint() }

// Uses returns the fingerprint of the authority that issued this server's certificate, or "" if it isn't a trusted one.
func (i *Identity) Uses() string {
	leaf := i.leaf()
	roots, err := os.ReadFile(i.path(rootFile))
	if leaf == nil || err != nil {
		return ""
	}
	return authority.IssuerOf(leaf, roots)
}

// Trust makes this server trust further authorities from its next start on, besides the one that issued its
// certificate. They are in PEM, with or without their keys.
func (i *Identity) Trust(others ...[]byte) error {
	roots := i.issuing().PEM()
	for _, text := range others {
		opened, err := authority.Open(text, i.now)
		if err != nil {
			return fmt.Errorf("the new authority of servers: %w", err)
		}
		if opened.Fingerprint() != i.Issuer() {
			roots = append(roots, opened.PEM()...)
		}
	}
	there, err := os.ReadFile(i.path(rootFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the certificates of servers: %w", err)
	}
	if bytes.Equal(there, roots) {
		return nil
	}
	return i.write(rootFile, roots)
}

// Issue makes another authority issue this server's certificate at once. The former authority stays trusted.
func (i *Identity) Issue(text []byte) error {
	next, err := authority.Open(text, i.now)
	if err != nil {
		return fmt.Errorf("the new authority of servers: %w", err)
	}
	former, err := i.Authority()
	if err != nil {
		return err
	}
	if next.Fingerprint() == i.Issuer() {
		return i.renewDue() // the certificate may not have been written
	}
	if err := i.write(authorityFile, text); err != nil {
		return err
	}
	i.mu.Lock()
	i.issuer = next
	i.mu.Unlock()
	return errors.Join(i.Trust(former), i.renewDue())
}
