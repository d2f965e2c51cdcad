package api

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"tend.dev/tend/api/pattern"
)

// The bounds of a sync's texts.
const (
	maxSyncURL  = 2048
	maxSyncText = 64 << 10
)

var (
	gitRef    = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._/+@-]{0,254}$`)
	scpAddr   = pattern.Lazy(`^[A-Za-z0-9._-]+@[A-Za-z0-9.\[\]:_-]+:[^:]`)
	checksum  = pattern.Lazy(`^sha256:[0-9a-f]{64}$`)
	gitScheme = []string{"https", "ssh", "http", "git", "file"}
)

func (c *checker) sync(s SyncSpec) {
	count := 0
	for _, location := range []string{s.Git, s.HTTP, s.Dir} {
		if location != "" {
			count++
		}
	}
	if count != 1 {
		c.add("git", "give one of git, http and dir: %d are given", count)
	}
	c.addError("git", checkRepository(s.Git))
	if s.HTTP != "" {
		c.addError("http", checkAddress(s.HTTP, "http", "https"))
	}
	if s.Dir != "" && (!path.IsAbs(s.Dir) || strings.ContainsRune(s.Dir, 0)) {
		c.add("dir", "%q is not an absolute path of the server", s.Dir)
	}
	if s.Ref != "" && (!gitRef().MatchString(s.Ref) || strings.Contains(s.Ref, "..") || strings.Contains(s.Ref, "@{")) {
		c.add("ref", "%q is not a branch, tag or commit id", s.Ref)
	}
	if s.Path != "" && (path.IsAbs(s.Path) || path.Clean(s.Path) != strings.TrimSuffix(s.Path, "/") ||
		strings.HasPrefix(s.Path, "..") || strings.ContainsAny(s.Path, "\x00:")) {
		c.add("path", "%q is not a folder of the source, such as deploy/prod", s.Path)
	}
	c.duration("interval", s.Interval, MinSyncInterval, MaxSyncInterval)
	if s.Checksum != "" && !checksum().MatchString(s.Checksum) {
		c.add("checksum", "%q is not sha256: and 64 hex digits", s.Checksum)
	}
	c.syncScopes(s)
	c.syncBelongs(s)
}

// syncScopes checks which scopes the source is limited to.
func (c *checker) syncScopes(s SyncSpec) {
	if len(s.Scopes) == 0 && !s.Trusted {
		c.add("scopes",
			"is required: name the scopes that the source may change, such as scopes = [\"shop\"]; or set trusted, "+
				"if everyone who can change the source may use this machine")
	}
	for i, scope := range s.Scopes {
		c.name(index("scopes", i), scope)
	}
}

// syncBelongs checks that each field has the source it is for.
func (c *checker) syncBelongs(s SyncSpec) {
	for _, f := range []struct {
		field, value, source string
		has                  bool
	}{
		{"ref", s.Ref, "git", s.Git != ""},
		{"allowed_signers", s.AllowedSigners, "git", s.Git != ""},
		{"ssh_key", s.SSHKey, "git", s.Git != ""},
		{"known_hosts", s.KnownHosts, "git", s.Git != ""},
		{"checksum", s.Checksum, "http", s.HTTP != ""},
		{"username", s.Username, "git or http", s.Dir == ""},
		{"password", s.Password, "git or http", s.Dir == ""},
	} {
		switch {
		case f.value != "" && !f.has:
			c.add(f.field, "is for %s alone", f.source)
		case len(f.value) > maxSyncText || strings.ContainsRune(f.value, 0):
			c.add(f.field, "is larger than %d bytes, or contains a NUL", maxSyncText)
		case (f.field == "username" || f.field == "password") && strings.ContainsAny(f.value, "\r\n"):
			c.add(f.field, "is one line")
		}
	}
}

func checkRepository(repository string) error {
	switch {
	case repository == "" || scpAddr().MatchString(repository) && len(repository) <= maxSyncURL:
		return nil
	case strings.Contains(repository, "://"):
		if strings.ContainsAny(repository, "?#") {
			return fmt.Errorf("has a query or a fragment, which git doesn't send: give a login in username and password")
		}
		return checkAddress(repository, gitScheme...)
	case path.IsAbs(repository) && len(repository) <= maxSyncURL && !strings.ContainsAny(repository, "\x00\n"):
		return nil
	}
	return fmt.Errorf("is not a repository: want https://, ssh://, user@host:path or an absolute path of the server")
}

// checkAddress checks a URL. Its errors don't quote it, because it may hold a password.
func checkAddress(address string, schemes ...string) error {
	parsed, err := url.Parse(address)
	switch {
	case err != nil || strings.ContainsAny(address, "\x00\n\r "):
		return fmt.Errorf("is not a URL: percent-encode special characters in its user and password, such as %%40 for @")
	case len(address) > maxSyncURL:
		return fmt.Errorf("is longer than %d characters", maxSyncURL)
	case parsed.Host == "" && parsed.Scheme != "file":
		return fmt.Errorf("names no host")
	case strings.HasPrefix(parsed.Host, "-"):
		return fmt.Errorf("names no host that can be: it begins with a dash")
	}
	if _, password := parsed.User.Password(); password && parsed.Scheme != "https" && parsed.Scheme != "http" {
		return fmt.Errorf("has a password, which %s doesn't take", parsed.Scheme)
	}
	if slices.Contains(schemes, parsed.Scheme) {
		return nil
	}
	return fmt.Errorf("scheme %q is not %s", parsed.Scheme, orList(schemes))
}
