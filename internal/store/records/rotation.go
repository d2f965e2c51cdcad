package records

import (
	"strings"

	"tend.dev/tend/api"
)

// Cluster is the permanent identity of a store.
type Cluster struct {
	// UID is a label of every container: an agent touches only those of its own cluster.
	UID string `json:"uid"`
	// KeyFingerprint identifies the keys in use.
	KeyFingerprint string `json:"keyFingerprint"`
}

// Identity reads the identity of the store.
func (s Snapshot) Identity() Read[Cluster] { return get[Cluster](s, ClusterKey) }

// Rotation is the replacement of a key, from when someone asks for it until every party has forgotten the old key.
type Rotation struct {
	api.KeyRotation
	// Sealed is the new key, encrypted under the old cluster keys, until every server has it.
	Sealed []byte `json:"sealed,omitempty"`
}

// Holding is a party's report about a key.
type Holding struct {
	// Knows are the fingerprints of the keys that the server accepts; Uses is the fingerprint of the key that it uses
	// itself.
	Knows []string `json:"knows"`
	Uses  string   `json:"uses"`
	// Next is the next step if the rotation doesn't progress by itself.
	Next string `json:"next,omitempty"`
}

// Holdings maps the name of each key to a server's report on it.
type Holdings map[string]Holding

// Rotation reads the replacement of a key.
func (s Snapshot) Rotation(key string) Read[Rotation] { return get[Rotation](s, RotationKey(key)) }

// Holdings reads the keys that each server reports to hold, by server.
func (s Snapshot) Holdings() map[string]Holdings {
	out := map[string]Holdings{}
	for record := range s.Prefix(HoldingsPrefix) {
		if said, ok := record.Value.(*Holdings); ok {
			out[strings.TrimPrefix(record.Key, HoldingsPrefix)] = *said
		}
	}
	return out
}
