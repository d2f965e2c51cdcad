package records

import "tend.dev/tend/api"

// AccessToken is a person's or a program's token as the store has it: without its secret.
type AccessToken struct {
	api.AccessTokenInfo
	// Hash is SHA-256 of the secret.
	Hash []byte `json:"hash"`
}

// AccessToken reads the token of a name.
func (s Snapshot) AccessToken(name string) Read[AccessToken] {
	return get[AccessToken](s, AccessTokenKey(name))
}

// AccessTokens returns all of them by name, also those that have expired.
func (s Snapshot) AccessTokens() []Read[AccessToken] {
	return collect[AccessToken](s.Prefix(AccessTokensPrefix))
}
