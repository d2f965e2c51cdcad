package boundary

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of what ingress nodes store of certificates. A chain with its key has less than 20 KiB; names on demand are
// without number.
const (
	MaxCertificateValue = 64 << 10
	MaxCertificateKey   = 512
	MaxLocks            = 64
	// MaxCertificateFiles and MaxCertificateBytes bound what all of them store together: a certificate has three files. Of
	// accounts at authorities, and what belongs to them, there are MaxAccountFiles at most.
	MaxCertificateFiles = 30_000
	MaxCertificateBytes = 128 << 20
	MaxAccountFiles     = 300
)

// CertificateRoom counts the stored files of certificates, those of accounts among them, and their bytes.
type CertificateRoom struct{ Files, Accounts, Bytes int }

// Add counts a file.
func (r *CertificateRoom) Add(key string, bytes int) {
	r.Files, r.Bytes = r.Files+1, r.Bytes+bytes
	if strings.HasPrefix(key, "acme/") {
		r.Accounts++
	}
}

// Full returns what there is too much of; empty if nothing is.
func (r CertificateRoom) Full() string {
	for _, of := range []struct {
		what      string
		has, most int
	}{
		{"files of certificates", r.Files, MaxCertificateFiles},
		{"files of accounts at authorities", r.Accounts, MaxAccountFiles},
		{"bytes of certificates", r.Bytes, MaxCertificateBytes},
	} {
		if of.has > of.most {
			return fmt.Sprintf("%d %s, of %d", of.has, of.what, of.most)
		}
	}
	return ""
}

// Host is a host that an ingress declares with TLS.
type Host struct {
	// Name is in lower case; it may begin with "*.".
	Name string
	// OnDemand is set if names below a wildcard get certificates of their own.
	OnDemand bool
	// Internal is set if the cluster's own authority signs its certificates.
	Internal bool
}

// covers reports whether a name is the host's, or directly below its wildcard.
func (h Host) covers(name string) bool {
	if h.Name == name {
		return true
	}
	label, parent, found := strings.Cut(name, ".")
	return found && label != "*" && label != "" && h.Name == "*."+parent
}

// Trial reports whether a key is one that certmagic writes, reads and deletes to try a storage before it relies on it.
func Trial(key string) bool {
	digits, found := strings.CutPrefix(key, "rw_test_")
	return found && digits != "" && len(digits) < 32 && strings.Trim(digits, "0123456789") == ""
}

// SignsFor reports whether the cluster's own authority signs a certificate for names that an ingress node asks for:
// each of them must be that of a declared host whose certificates it signs.
func SignsFor(hosts []Host, names []string) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(hosts, func(h Host) bool { return h.Internal && h.covers(name) })
	})
}

// CertificateKey reports whether an ingress node may read and write a key of the storage of certificates:
// certificates/ISSUER/SITE/SITE.crt, .key and .json of the hosts it serves, staples of their certificates
// (ocsp/SITE-HASH), and what belongs to accounts at authorities (acme/…). Keys of the cluster's own authority are none
// of them.
func CertificateKey(hosts []Host, key string) bool {
	parts := strings.Split(key, "/")
	if len(key) > MaxCertificateKey || slices.ContainsFunc(parts, odd) {
		return false
	}
	switch {
	case parts[0] == "acme":
		return len(parts) > 2
	case parts[0] == "certificates" && len(parts) == 4:
		file, known := cutEnding(parts[3])
		return known && file == parts[2] && ofSite(hosts, parts[2])
	case parts[0] == "ocsp" && len(parts) == 2:
		site, _, found := cutLast(parts[1], '-')
		return found && ofSite(hosts, site)
	}
	return false
}

// CertificateFolder reports whether an ingress node may list a folder of the storage.
func CertificateFolder(hosts []Host, folder string) bool {
	parts := strings.Split(folder, "/")
	if len(folder) > MaxCertificateKey || slices.ContainsFunc(parts, odd) {
		return false
	}
	return parts[0] == "acme" && len(parts) > 1 || parts[0] == "certificates" && len(parts) == 3 && ofSite(hosts, parts[2])
}

func odd(part string) bool { return part == "" || part == "." || part == ".." }

func cutEnding(file string) (name string, known bool) {
	for _, ending := range []string{".crt", ".key", ".json"} {
		if name, found := strings.CutSuffix(file, ending); found {
			return name, true
		}
	}
	return "", false
}

func cutLast(text string, at byte) (before, after string, found bool) {
	i := strings.LastIndexByte(text, at)
	if i < 0 {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}

// wildcard stands for "*" in the storage's keys.
const wildcard = "wildcard_"

// ofSite reports whether a site's name in the storage is that of a host, or on demand of a name below one.
func ofSite(hosts []Host, site string) bool {
	name := site
	if parent, found := strings.CutPrefix(site, wildcard+"."); found {
		name = "*." + parent
	}
	return slices.ContainsFunc(hosts, func(h Host) bool { return h.Name == name || h.OnDemand && h.covers(name) })
}
