package api

import (
	"slices"
	"strings"
)

// Labels on every container an agent makes. An agent touches only containers whose LabelCluster is its own.
const (
	LabelPrefix  = "tend."
	LabelCluster = "tend.cluster"
	LabelKind    = "tend.kind"
	LabelScope   = "tend.scope"
	LabelName    = "tend.name"
	LabelSlot    = "tend.slot"
	LabelTask    = "tend.task"
	LabelRelease = "tend.release"
	// LabelFingerprint distinguishes releases of one number: those of an object that was deleted and made again, or of a store
	// that was restored.
	LabelFingerprint = "tend.fingerprint"
	LabelNode        = "tend.node"
	// LabelClaim and LabelOrdinal are those of an ordinal's volume.
	LabelClaim   = "tend.claim"
	LabelOrdinal = "tend.ordinal"
	// LabelRole says what a container of a task is beside its main one, which has none: RoleInit.
	LabelRole = "tend.role"
	// An init container names its init, the main container it prepares (by id) and its attempt, from 1.
	LabelInit        = "tend.init"
	LabelInitFor     = "tend.init-for"
	LabelInitAttempt = "tend.init-attempt"
)

// RoleInit is the LabelRole of init containers.
const RoleInit = "init"

// Names and environment variables containers see.
const (
	// Network is the platform network every bridged container joins.
	Network = "tend0"
	// NetworkAlias is the predecessor's name for it, accepted in manifests and served in DNS.
	NetworkAlias = "voodu0"

	EnvScope = "TEND_SCOPE"
	EnvName  = "TEND_NAME"
	EnvSlot  = "TEND_SLOT"
	// EnvOrdinal and EnvReplica are a statefulset's: both are its ordinal.
	EnvOrdinal = "TEND_REPLICA_ORDINAL"
	EnvReplica = "TEND_REPLICA_ID"
)

// IsIdentity says whether a variable says who a container is: Tend sets it last, whatever else gives it a value.
func IsIdentity(name string) bool {
	return slices.Contains([]string{EnvScope, EnvName, EnvSlot, EnvOrdinal, EnvReplica}, name)
}

// Zones are those under which <name>.<scope> also resolves.
var Zones = []string{"tend", "voodu"}

// publicZones are the top-level domains that every program asks for; those of two letters are the countries'. Later
// ones (dev, app, shop) are not among them: they are what scopes are called.
var publicZones = []string{"arpa", "biz", "com", "edu", "gov", "info", "int", "mil", "net", "org"}

// PublicZone reports whether a scope is called like a top-level domain of the public DNS. Its workloads have names in
// Zones alone: a deployment com/github must not answer for github.com.
func PublicZone(scope string) bool {
	country := len(scope) == 2 && !strings.ContainsFunc(scope, func(r rune) bool { return r < 'a' || r > 'z' })
	return country || slices.Contains(publicZones, scope)
}

// ServiceNames returns the names by which containers reach a workload, or an ordinal of one, the shortest first.
func ServiceNames(name, scope string) []string {
	base := strings.ToLower(name + "." + scope)
	var out []string
	if !PublicZone(scope) {
		out = append(out, base)
	}
	for _, zone := range Zones {
		out = append(out, base+"."+zone)
	}
	return out
}
