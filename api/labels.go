package api

import (
	"slices"
	"strings"

	"tend.dev/tend/api/pattern"
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
	// LabelFingerprint distinguishes releases of one number: those of an object that was deleted and made again, or of
	// a store that was restored.
	LabelFingerprint = "tend.fingerprint"
	LabelNode        = "tend.node"
	// LabelClaim and LabelOrdinal are those of an ordinal's volume.
	LabelClaim   = "tend.claim"
	LabelOrdinal = "tend.ordinal"
	// LabelRole is the role of a task's container: RoleInit. The main container has no such label.
	LabelRole = "tend.role"
	// An init container names its init, the main container it prepares (by id) and its attempt, from 1.
	LabelInit        = "tend.init"
	LabelInitFor     = "tend.init-for"
	LabelInitAttempt = "tend.init-attempt"
)

// Labels are all labels of Tend. An image, or a manifest, may have labels of the same names: on a container, those that
// Tend doesn't set are empty.
func Labels() []string {
	return []string{
		LabelCluster, LabelKind, LabelScope, LabelName, LabelSlot, LabelTask, LabelRelease, LabelFingerprint, LabelNode,
		LabelClaim, LabelOrdinal, LabelRole, LabelInit, LabelInitFor, LabelInitAttempt, LabelMacro,
		LabelBuildCluster, LabelBuildOwner, LabelBuildScope, LabelBuildID, LabelBuildTree,
	}
}

// SharedVolumes is a label by which people name volumes, and folders of the host, that several programs may write to at
// once: names and paths, with commas between them. It counts on Tend's container and on the other one alike.
const SharedVolumes = "dev.tend.shared-volumes"

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

// Variables that say who a container is, the predecessor's names among them.
var (
	identities = []string{EnvScope, EnvName, EnvSlot, "VOODU_SCOPE", "VOODU_NAME"}
	ordinals   = []string{EnvOrdinal, EnvReplica, "VOODU_REPLICA_ORDINAL", "VOODU_REPLICA_ID"}
)

// IsIdentity reports whether Tend sets a variable in the containers of a kind, to say who they are. It sets it last,
// whatever else gives it a value.
func IsIdentity(kind Kind, name string) bool {
	return slices.Contains(identities, name) || kind == KindStatefulSet && slices.Contains(ordinals, name)
}

// Identity returns the variables that say who the container of a task is.
func (t Task) Identity() map[string]string {
	out := map[string]string{
		EnvScope: t.Scope, EnvName: t.Name, EnvSlot: t.Slot, "VOODU_SCOPE": t.Scope, "VOODU_NAME": t.Name,
	}
	if _, ok := t.Ordinal(); ok {
		for _, name := range ordinals {
			out[name] = t.Slot
		}
	}
	return out
}

// Zones lists the DNS zones in which <name>.<scope> also resolves.
var Zones = []string{"tend", "voodu"}

// publicZones are the top-level domains that every program asks for: the old generic ones, and those of countries as
// IANA lists them. Later ones (dev, app, shop) are not among them: they are what scopes are called. local, localdomain
// and internal are those of machines nearby: of multicast DNS, of a host's own names, and of clouds.
var publicZones = strings.Fields("arpa biz com edu gov info int mil net org local localdomain internal " +
	"ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bv " +
	"bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es " +
	"et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu " +
	"id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt " +
	"lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no " +
	"np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si " +
	"sj sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk " +
	"us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw")

// PublicZone reports whether a scope is called like a top-level domain that programs ask for: a deployment com/github
// must not answer for github.com.
func PublicZone(scope string) bool { return slices.Contains(publicZones, scope) }

// knownSlot matches what follows the dot in the names of a statefulset's pods, and of the commands of a release. The
// random slots of other pods aren't guarded: a scope would have to be called like one that is drawn later.
var knownSlot = pattern.Lazy(`^([0-9]+|v[0-9]+-(pre|command|post|deploy)|m-([0-9a-f]{8}){1,2})$`)

// ZonedAlone reports whether the workloads of a scope have names in Zones alone: those of a scope that is called like a
// public domain, or like a slot. A deployment 0/shop-db must not answer for shop-db.0, the pod of shop/db. So are those
// of a scope called like Network: the engine answers <container>.<network>, too.
func ZonedAlone(scope string) bool {
	return PublicZone(scope) || knownSlot().MatchString(scope) || scope == Network
}

// ServiceNames returns the names by which containers reach a workload, or an ordinal of one, the shortest first.
func ServiceNames(name, scope string) []string {
	base := strings.ToLower(name + "." + scope)
	var out []string
	if !ZonedAlone(scope) {
		out = append(out, base)
	}
	for _, zone := range Zones {
		out = append(out, base+"."+zone)
	}
	return out
}

// ScopeLabel returns the label before the scope in a DNS name of the form of ServiceNames: web for web.prod.tend in the
// scope prod. It is not found in any other name.
func ScopeLabel(name, scope string) (label string, found bool) {
	for _, suffix := range ServiceNames("", scope) {
		label, found = strings.CutSuffix(strings.ToLower(name), suffix)
		if found = found && label != "" && !strings.Contains(label, "."); found {
			return label, true
		}
	}
	return "", false
}
