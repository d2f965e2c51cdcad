package clusterjob

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// The beginnings of tokens.
const (
	RegistrationPrefix = "vwksp-reg-"
	CredentialPrefix   = "vwksp-agt-"
)

// RegistrationLife is the default validity of a registration token; MaxRegistrationLife is the longest.
const (
	RegistrationLife    = 24 * time.Hour
	MaxRegistrationLife = 7 * 24 * time.Hour
)

// TokenHash returns what is stored of a token.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Invite returns a cluster's access with a registration token, in place of one that was not used. What is registered
// stays valid until the token is used.
func Invite(stored *api.ClusterAccess, uid, hash string, life time.Duration, now time.Time) api.ClusterAccess {
	next := accessOf(stored, uid)
	next.Registration = &api.ClusterToken{Hash: hash, IssuedAt: now.UTC(), ExpiresAt: now.Add(life).UTC()}
	return next
}

func accessOf(stored *api.ClusterAccess, uid string) api.ClusterAccess {
	if stored == nil || stored.UID != uid {
		return api.ClusterAccess{UID: uid}
	}
	return *stored
}

// Invited reports whether a registration token is valid.
func Invited(access *api.ClusterAccess, hash string, now time.Time) bool {
	return access != nil && access.Registration != nil && access.Registration.Hash == hash &&
		now.Before(access.Registration.ExpiresAt)
}

// Register returns a cluster's access after the registration token was used: credential is the hash of the token that
// replaces every other one. The registration token is valid until that was used once, so an operator that did not get
// the answer can ask again.
func Register(access api.ClusterAccess, credential string, now time.Time) api.ClusterAccess {
	access.Token, access.Previous = &api.ClusterToken{Hash: credential, IssuedAt: now.UTC()}, nil
	access.RegisteredAt, access.Unapplied = now.UTC(), 0 // the newest keys came with the registration token
	return access
}

// Rotate returns a cluster's access with another token; used is the hash of the one that the request came with. The one
// that was used stays valid for a day, so an operator that did not get the answer can ask again.
func Rotate(access api.ClusterAccess, used, credential string, now time.Time) api.ClusterAccess {
	if access.Token != nil && access.Token.Hash == used {
		previous := *access.Token
		previous.ExpiresAt = now.Add(pull.RotationGrace).UTC()
		access.Previous = &previous
	}
	access.Token = &api.ClusterToken{Hash: credential, IssuedAt: now.UTC()}
	return access
}

// Grant holds the rights of a token.
type Grant int

// The values of Grant.
const (
	// Refused: the token is of no use here.
	Refused Grant = iota
	// Granted: it is a cluster's.
	Granted
	// FirstUse: it is a cluster's, and this must be recorded by Use before anything is answered.
	FirstUse
)

// Check returns the rights of a token.
func Check(access *api.ClusterAccess, hash string, now time.Time) Grant {
	switch {
	case access == nil:
		return Refused
	case access.Token != nil && access.Token.Hash == hash:
		if !access.Token.Used {
			return FirstUse
		}
		return Granted
	case access.Previous != nil && access.Previous.Hash == hash && now.Before(access.Previous.ExpiresAt):
		return Granted
	}
	return Refused
}

// Use returns a cluster's access after its token was used for the first time: with the token that it was registered
// for, nobody can register any more.
func Use(access api.ClusterAccess) api.ClusterAccess {
	used := *access.Token
	used.Used = true
	access.Token = &used
	if access.Registration != nil && !access.Registration.IssuedAt.After(access.RegisteredAt) {
		access.Registration = nil
	}
	return access
}
