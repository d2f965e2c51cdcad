package api

import "strings"

// RegistrySpec declares the credentials for pulls from one registry. Either username and token, or helper.
type RegistrySpec struct {
	// URL is the registry's host, with a port where it has one; docker.io is written so.
	URL      string `json:"url" hcl:"url"`
	Username string `json:"username,omitempty" hcl:"username,optional"`
	// Token is a password or an access token. It is encrypted before it is stored, and never shown again.
	Token string `json:"token,omitempty" hcl:"token,optional"`
	// Password is the older spelling of Token.
	Password string `json:"password,omitempty" hcl:"password,optional"`
	// Helper is the suffix of a docker-credential-… program on the nodes, such as ecr-login.
	Helper string `json:"helper,omitempty" hcl:"helper,optional"`
}

// dockerHub is the registry of references without one; the other names lead to it too.
const dockerHub = "docker.io"

// Host is the registry's host as image references name it, however its URL is spelled.
func (s RegistrySpec) Host() string {
	host := strings.ToLower(s.URL)
	for _, scheme := range []string{"https://", "http://"} {
		host = strings.TrimPrefix(host, scheme)
	}
	host, _, _ = strings.Cut(host, "/")
	switch host {
	case "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com", "hub.docker.com":
		return dockerHub
	}
	return host
}

// Secret returns the token, or the password if there is no token.
func (s RegistrySpec) Secret() string {
	if s.Token != "" {
		return s.Token
	}
	return s.Password
}

// SealedPrefix begins a secret as it is stored: sealed:<keyed hash>:<encrypted, in base64>.
const SealedPrefix = "sealed:"
