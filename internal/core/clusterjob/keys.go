package clusterjob

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/approval"
)

// JobKeys returns the keys that sign the jobs of a cluster. The first is the newest; the second, if there was one
// before, is the one that the operator has until it registers with the first, and the one before the first after
// that. mac is the servers' keyed hash: nothing is stored.
func JobKeys(mac func([]byte) string, access api.ClusterAccess) []ed25519.PrivateKey {
	keys := []ed25519.PrivateKey{jobKeyOf(mac, access.UID, access.Keys)}
	if access.Keys > 0 {
		keys = append(keys, jobKeyOf(mac, access.UID, access.Keys-max(access.Unapplied, 1)))
	}
	return keys
}

func jobKeyOf(mac func([]byte) string, uid string, number int) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(mac(fmt.Appendf(nil, "signature of jobs\n%s\n%d", uid, number))))
	return ed25519.NewKeyFromSeed(seed[:])
}

// ApprovalSecret returns the secret of a cluster's claims: the one that its operator has.
func ApprovalSecret(mac func([]byte) string, access api.ClusterAccess) string {
	return approval.Secret(mac, access.UID, access.Keys-access.Unapplied)
}

// NewestApprovalSecret returns the secret of claims that an operator gets which registers now.
func NewestApprovalSecret(mac func([]byte) string, access api.ClusterAccess) string {
	return approval.Secret(mac, access.UID, access.Keys)
}

// RenewKeys returns a cluster's access with other keys: for its jobs, and for approvals. The operator has what it had
// before until it registers. A registration token that was not used is gone: it came with the keys before.
func RenewKeys(stored *api.ClusterAccess, uid string) api.ClusterAccess {
	next := accessOf(stored, uid)
	next.Keys, next.Unapplied, next.Registration = next.Keys+1, next.Unapplied+1, nil
	return next
}
