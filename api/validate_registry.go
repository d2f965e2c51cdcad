package api

import (
	"strings"

	"tend.dev/tend/api/pattern"
)

var (
	registryHost   = pattern.Lazy(`^(?:` + imageDomain + `)$`)
	registryHelper = pattern.Lazy(`^[a-z0-9][a-z0-9._-]{0,63}$`)
)

func (c *checker) registry(s RegistrySpec) {
	if host := s.Host(); !registryHost().MatchString(host) {
		c.add("url", "%q is not a registry's host, such as ghcr.io or registry.local:5000", s.URL)
	}
	token := s.Secret()
	switch {
	case s.Helper != "" && (s.Username != "" || token != ""):
		c.add("helper", "and username or token exclude each other")
	case s.Helper == "ecr" || s.Helper == "aws":
		c.add("helper", "%q is not the name of a helper; the program is docker-credential-ecr-login, so write ecr-login",
			s.Helper)
	case s.Helper != "" && !registryHelper().MatchString(s.Helper):
		c.add("helper", "%q is the suffix of a docker-credential-… program", s.Helper)
	case strings.ContainsAny(s.Username+token, "\x00\r\n"):
		c.add("token", "and username are one line each")
	case strings.ContainsRune(s.Username, ':'):
		c.add("username", "holds a colon, which no registry takes")
	case (s.Username == "") != (token == ""):
		c.add("username", "and token go together; leave both out for a registry that needs no login")
	}
}
