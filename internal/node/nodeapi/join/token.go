package join

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/membership"
)

// The beginnings of tokens: of which form they are, and what joins with them. A server gets every secret of the
// cluster, so the token of a node doesn't admit a server.
const (
	forNodes   = "tend1"
	forServers = "tendserver1"
)

// tokenRefused is the title of the refusal of a token.
const tokenRefused = "TokenRefused"

// Errors about tokens.
var (
	ErrMalformed = errors.New("that is not a token of tend nodes add")
	ErrExpired   = errors.New("the token has expired: make another with tend nodes add")
	ErrFormer    = errors.New("the token is from before the keys of nodes were rotated: make another with tend nodes add")
	ErrUnknown   = errors.New("the token is of another cluster, or was revoked")
	ErrRole      = errors.New("a server joins with a token of tend nodes add --server, an agent with one of tend nodes add")
)

// Secret is a token in the hands of a machine: its id, the hash of its secret, and what it is for.
type Secret struct {
	ID     string
	Hash   []byte
	Server bool
}

// NewToken returns a token for what joins in a role: its form, the authority's fingerprint, its id and a secret, with
// dots between. The store keeps the hash of the secret alone, so that nobody who reads it, or holds the cluster's keys,
// can make one.
func NewToken(role, fingerprint string) (token string, of Secret) {
	of = Secret{ID: strings.ToLower(rand.Text()[:10]), Server: role == api.JoinAsServer}
	form, secret := forNodes, rand.Text()
	if of.Server {
		form = forServers
	}
	of.Hash = hash(secret)
	return strings.Join([]string{form, fingerprint, of.ID, secret}, "."), of
}

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// parse returns the secret of a token, and the fingerprint of the authority that it names.
func parse(token string) (of Secret, fingerprint string, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 4 || parts[0] != forNodes && parts[0] != forServers || slices.Contains(parts, "") {
		return of, "", ErrMalformed
	}
	return Secret{ID: parts[2], Hash: hash(parts[3]), Server: parts[0] == forServers}, parts[1], nil
}

// Applicant asks to join.
type Applicant struct {
	Secret Secret
	// Name is the node's, or the server's.
	Name string
	// Key is the hash of the public key with which a node asks.
	Key string
	// Version is the Tend that the machine runs; empty if it doesn't say.
	Version string
}

// Standing holds what the store knows of an applicant's token and name.
type Standing struct {
	// Token is nil if no token has the applicant's id.
	Token *api.JoinTokenInfo
	Hash  []byte
	// Former is set if the token was made under an authority that is accepted no longer.
	Former bool
	// Held is set if a machine has the node's name; Alive if it answers. Token and key are those with which it joined.
	Held, Alive        bool
	HeldToken, HeldKey string
	// Server refuses a name that a server has; nil if none does. Version refuses the Tend that the machine runs.
	Server, Version *membership.RefusalError
	// Ingress is set if the node of that name is declared to serve ingresses.
	Ingress bool
}

// Decide returns whether an applicant may join. again is set for one that has joined already, and asks once more
// because the answer was lost.
func Decide(is Standing, a Applicant, now time.Time) (again bool, refused *api.Problem) {
	if refused := Check(is, a, now); refused != nil {
		return false, refused
	}
	if is.Version != nil {
		return false, &api.Problem{Title: "VersionRefused", Status: http.StatusConflict, Detail: is.Version.Why,
			Next: is.Version.Next}
	}
	if a.Secret.Server {
		again = slices.Contains(is.Token.Used, a.Name)
	} else {
		again = is.Held && is.HeldToken == a.Secret.ID && is.HeldKey == a.Key
	}
	switch {
	case again:
		return true, nil
	case len(is.Token.Used) >= is.Token.Uses:
		return false, &api.Problem{Title: tokenRefused, Status: http.StatusUnauthorized,
			Detail: "the token was used already, by " + strings.Join(is.Token.Used, ", "), Next: nextToken(a.Secret.Server)}
	case is.Token.Node != "" && is.Token.Node != a.Name:
		return false, &api.Problem{Title: "NodeName", Status: http.StatusForbidden,
			Detail: "the token is for the name " + is.Token.Node + " alone", Next: "join with --node " + is.Token.Node}
	case a.Secret.Server:
		return false, nil
	}
	return false, checkName(is, a.Name)
}

// Check refuses an invalid token, whatever the name is and however often it was used.
func Check(is Standing, a Applicant, now time.Time) *api.Problem {
	if err := checkToken(is, a, now); err != nil {
		return &api.Problem{Title: tokenRefused, Status: http.StatusUnauthorized, Detail: err.Error(),
			Next: nextToken(a.Secret.Server)}
	}
	return nil
}

func nextToken(server bool) string {
	if server {
		return "tend nodes add --server prints the command with a new token"
	}
	return "tend nodes add prints the command with a new token"
}

func checkToken(is Standing, a Applicant, now time.Time) error {
	switch {
	case is.Token == nil || subtle.ConstantTimeCompare(is.Hash, a.Secret.Hash) != 1:
		return ErrUnknown
	case a.Secret.Server != (is.Token.Role == api.JoinAsServer):
		return ErrRole
	case is.Former:
		return ErrFormer
	case !now.Before(is.Token.ExpiresAt):
		return ErrExpired
	}
	return nil
}

// checkName refuses a node's name that another machine has, unless the token says that it takes that one's place.
func checkName(is Standing, name string) *api.Problem {
	refused := &api.Problem{Title: "NodeName", Status: http.StatusConflict, Next: "choose another name with --node"}
	switch {
	case is.Server != nil:
		refused.Detail, refused.Next = is.Server.Why, is.Server.Next
	case is.Alive:
		refused.Detail = "a node called " + name + " is connected already"
	case is.Held && !is.Token.Replace:
		refused.Detail = "another machine is node " + name + ", and is away"
		refused.Next = "choose another name with --node; to let this machine take its place: tend nodes add --node " +
			name + " --replace"
	case is.Ingress && is.Token.Role != api.JoinAsIngress && is.Token.Node != name:
		// a machine would take the right to read TLS keys by its name
		refused.Status = http.StatusForbidden
		refused.Detail = "node " + name +
			" is declared to serve ingresses, and the token is neither for those nor for that name"
		refused.Next = "choose another name with --node; to let this machine serve ingresses: tend nodes add --ingress, or tend nodes add --node " + name
	default:
		return nil
	}
	return refused
}
