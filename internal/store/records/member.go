package records

import (
	"strings"
	"time"

	"tend.dev/tend/api"
)

// Member is the machine that a node's name belongs to. Certificates of other machines are refused.
type Member struct {
	// UID is the machine's; empty for the node of a server, and once the node was removed.
	UID string `json:"uid,omitempty"`
	// Server is the server whose node this is.
	Server string `json:"server,omitempty"`
	// Removed is set once a person took the node out of the cluster.
	Removed bool `json:"removed,omitempty"`
	// Ingress is set if the token with which the machine joined lets it serve ingresses.
	Ingress bool `json:"ingress,omitempty"`
	// Token is the id of that token, and Key the hash of the public key that was sent with it: a machine that repeats the
	// join because the answer was lost sends the same key.
	Token    string    `json:"token,omitempty"`
	Key      string    `json:"key,omitempty"`
	JoinedAt time.Time `json:"joinedAt,omitzero"`
	// Roots are the fingerprints of the authorities that the machine reports to trust, and Issuer is that of its
	// certificate: the rotation of the authority depends on them.
	Roots  []string `json:"roots,omitempty"`
	Issuer string   `json:"issuer,omitempty"`
}

// decodeMember reads a member; earlier servers stored a machine's uid, "server:NAME" or "removed" as plain text.
func decodeMember(_ string, value []byte) (any, error) {
	text := string(value)
	switch server, of := strings.CutPrefix(text, "server:"); {
	case strings.HasPrefix(text, "{"):
		return decodeAs[Member]("", value)
	case of:
		return &Member{Server: server}, nil
	case text == "removed":
		return &Member{Removed: true}, nil
	}
	return &Member{UID: text}, nil
}

// JoinToken is a stored token: without its secret.
type JoinToken struct {
	api.JoinTokenInfo
	// Hash is SHA-256 of the secret.
	Hash []byte `json:"hash"`
	// Authority is the fingerprint of the nodes' authority with which it was made; empty before Tend recorded it.
	Authority string `json:"authority,omitempty"`
	// Settled are the servers of Used that have started, or were removed: none of them gets the answer again.
	Settled []string `json:"settled,omitempty"`
}

// Member reads which machine a node's name is of.
func (s Snapshot) Member(node string) Read[Member] { return get[Member](s, MemberKey(node)) }

// Members reads which machines the names of nodes are of.
func (s Snapshot) Members() map[string]Member {
	out := map[string]Member{}
	for record := range s.Prefix(MembersPrefix) {
		if member, ok := record.Value.(*Member); ok {
			out[strings.TrimPrefix(record.Key, MembersPrefix)] = *member
		}
	}
	return out
}

// JoinToken reads a token with which machines join.
func (s Snapshot) JoinToken(id string) Read[JoinToken] { return get[JoinToken](s, JoinTokenKey(id)) }

// JoinTokens returns all of them, also those that have expired.
func (s Snapshot) JoinTokens() []Read[JoinToken] {
	return collect[JoinToken](s.Prefix(JoinTokensPrefix))
}

// ServesIngress reports whether a node may serve ingresses, and so read the keys of their certificates. The node's
// declaration decides, else the token it joined with. The node of a server may, unless it is declared otherwise. A name
// without a member record may not: any machine with a certificate could use it.
func (s Snapshot) ServesIngress(node string) bool {
	member := s.Member(node)
	if !member.Exists() || member.Value.Removed {
		return false
	}
	if declared := s.NodeSpec(node).Ingress; declared != nil {
		return *declared
	}
	return member.Value.Ingress || member.Value.Server != ""
}
