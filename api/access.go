package api

import "time"

// AccessRole is the set of rights that an access token gives a person or a program. docs/operate/people.md has the
// table.
type AccessRole string

// The roles, the least first. A viewer reads; a deployer also changes the objects of its scopes; an admin may do
// everything.
const (
	Viewer   AccessRole = "viewer"
	Deployer AccessRole = "deployer"
	Admin    AccessRole = "admin"
)

// AccessRoles are all roles, the least first.
var AccessRoles = []AccessRole{Viewer, Deployer, Admin}

// AccessTokenRequest says whose token is made, what it allows, and until when.
type AccessTokenRequest struct {
	// Name is the person's or the program's: lower-case letters, digits and dashes.
	Name string     `json:"name"`
	Role AccessRole `json:"role"`
	// Scopes limits the token to these scopes. Default: all scopes. An admin token has no scopes.
	Scopes []string `json:"scopes,omitempty"`
	// TTL is the time until it expires, in days or as a duration: 90d, 12h. From 1m to 366d. Default 90d.
	TTL string `json:"ttl,omitempty"`
}

// AccessTokenInfo describes an access token, without its secret.
type AccessTokenInfo struct {
	Name   string     `json:"name"`
	Role   AccessRole `json:"role"`
	Scopes []string   `json:"scopes,omitempty"`
	// ID differs for each token of the name, one after the other.
	ID        string    `json:"id"`
	MadeBy    string    `json:"madeBy,omitempty"`
	MadeAt    time.Time `json:"madeAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	// Authority is the fingerprint of the cluster's own authority that the token names; empty if it names none.
	Authority string `json:"authority,omitempty"`
	// FormerAuthority is set in a list if that authority issues the certificates of the server no more: who has the token
	// refuses to send it.
	FormerAuthority bool `json:"formerAuthority,omitempty"`
}

// AccessToken is a new token.
type AccessToken struct {
	AccessTokenInfo
	// Token is the secret, which is shown once.
	Token string `json:"token"`
	// Server is the URL at which this server answers other machines. Empty if it has no listener for them (--listen).
	Server string `json:"server,omitempty"`
	// Local is the URL at which this server answers programs of its own machine that have a token. Empty if it has no
	// listener for them (--http off).
	Local string `json:"local,omitempty"`
}

// AccessTokenPrefix begins every access token: tendaccess1.NAME.SECRET, or tendaccess1.NAME.SECRET.FINGERPRINT. The
// fingerprint is SHA-256, in hex, of the certificate of the cluster's own authority: a client that finds it there
// trusts a server with a certificate of that authority, and no other.
const AccessTokenPrefix = "tendaccess1"
