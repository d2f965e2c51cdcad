package arch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// layer says what a folder, and what is below it, may import of this module besides itself. Its tests may import more.
type layer struct {
	folder string
	may    []string
	why    string
}

// layers is the map of DESIGN's section 2; dependencies run one way, down this table. The longest folder that fits
// counts.
var layers = []layer{
	{"api", nil, "every layer uses the values, other programs too: they drag nothing along"},
	{"api/kube", nil, "kinds of Kubernetes, as its machinery wants them; they know nothing of Tend's own values"},
	{"client", []string{"api"}, "the public client needs the wire's values alone"},
	{"internal/core", []string{"api"}, "decisions are functions of values: what they can't reach they can't depend on"},
	{"internal/ownership", []string{"api"},
		"who set which field is a function of values, like core; the verbs and the blame query call it"},
	{"internal/store", nil, "a store knows bytes and revisions, no kinds"},
	{"internal/records", []string{"api", "internal/store"}, "what lies where in the store; no decisions"},
	{"internal/imageask", []string{"api", "internal/core", "internal/records"},
		"who is asked for an image is read once, for those who ask and those who wait"},
	{"internal/secret", nil, "keys and sealing serve every layer and know none"},
	{"internal/retention", nil, "who owns a file and how long it waits; what the file is for is the collector's concern"},
	{"internal/blob", []string{"internal/retention"}, "bytes by their digest; what they are for is the concern of others"},
	{"internal/version", nil, "what the binary says of itself"},
	{"internal/asset", []string{"api", "internal/blob", "internal/confine", "internal/retention"}, "what assets hold is fetched and collected by its digests; callers say who refers to them"},
	{"internal/delay", nil, "it waits; how long and for what is its callers' concern"},
	{"internal/recovery", nil, "any goroutine may panic; what is done then is its starter's concern"},
	{"internal/manifest", []string{"api", "internal/core"}, "text to objects, without a server or a store"},
	{"internal/compose", []string{"api", "internal/core", "internal/manifest"},
		"Compose files to manifests, without a server"},
	{"internal/backup", []string{"api", "internal/records", "internal/store"},
		"what a backup's file holds and how it is read; it encrypts nothing, and no root is its business"},
	{"internal/backup/restore", []string{"api", "internal/backup", "internal/records", "internal/retention",
		"internal/secret", "internal/store"},
		"a root is made from a file, without a server"},
	{"internal/verbs", []string{"api", "internal/core", "internal/imageask", "internal/records", "internal/ownership",
		"internal/store", "internal/secret", "internal/tracing"},
		"the verbs write what is desired; running it isn't their concern"},
	{"internal/eventlog", []string{"api", "internal/core", "internal/records", "internal/store"},
		"events in the store: written beside what they are of, and read; what is sent anywhere is others' affair"},
	{"internal/engine", []string{"internal/store"}, "when a key is reconciled, never what is done about it"},
	{"internal/watcher", []string{"internal/core"},
		"it polls what it is given and says what changed; what is listed, and what follows, is its user's concern"},
	{"internal/syncer", []string{"api", "internal/build", "internal/confine", "internal/core", "internal/gitcmd",
		"internal/manifest", "internal/records", "internal/subprocess", "internal/verbs"},
		"sources of manifests are fetched and applied through the verbs; when, is the controller's decision"},
	{"internal/control", []string{"api", "internal/core", "internal/engine", "internal/eventlog", "internal/imageask",
		"internal/records", "internal/store", "internal/tracing", "internal/watcher"},
		"controllers write what should be; they reach no container, no socket and no agent"},
	{"internal/controlplane", []string{"api", "internal/control", "internal/core", "internal/engine", "internal/eventlog",
		"internal/records", "internal/store", "internal/version", "internal/tracing", "internal/watcher"},
		"the controllers of a term as one unit; what they do outside of the store is given to it"},
	{"internal/relay", []string{"api", "internal/connlimit", "internal/nodeapi/authority"}, "connections between nodes; which pod is where, and who may ask, is for its caller to say"},
	{"internal/pki", nil, "authorities and certificates; who gets one, for what and for how long, its callers decide"},
	{"internal/nodeapi/authority", []string{"internal/pki"}, "certificates of servers and nodes; what a node may do is for others to decide"},
	{"internal/rotation", []string{"api", "internal/certstore", "internal/core", "internal/ingress/certs", "internal/nodeapi/authority", "internal/peer", "internal/records", "internal/secret", "internal/store"}, "what each phase of a rotation does; core/rekey decides when one is over, the server gives it a term"},
	{"internal/peer", []string{"api", "internal/core", "internal/nodeapi/authority", "internal/nodeapi/wire"}, "what servers are to each other: certificates and files; what is written is the store's concern"},
	{"internal/nodeapi/wire", []string{"api", "internal/build", "internal/core", "internal/runtime", "internal/tracing"}, "how values and errors travel between a server and a node"},
	{"internal/nodeapi/remote", []string{"api", "internal/core", "internal/limit", "internal/nodeapi", "internal/nodeapi/local", "internal/nodeapi/wire", "internal/tracing"}, "the node protocol over HTTP/2: a server's half and an agent's"},
	{"internal/nodeapi/session", []string{"api", "internal/core", "internal/execstream", "internal/nodeapi", "internal/nodeapi/wire", "internal/runtime"},
		"a server's requests to a node, over the node's own connection"},
	{"internal/nodeapi/join", []string{"api", "internal/core", "internal/limit", "internal/nodeapi/authority", "internal/nodeapi/wire", "internal/pki"}, "how a machine becomes a node, before it has a certificate"},
	{"internal/execstream", []string{"api", "client/execwire", "internal/runtime"}, "the two ends of a command's connection"},
	{"internal/nodeapi/nodeapitest", []string{"api", "internal/certstore", "internal/core", "internal/pki", "internal/records", "internal/nodeapi", "internal/nodeapi/authority", "internal/nodeapi/local", "internal/store"},
		"the contract that every transport of the node protocol keeps"},
	{"internal/runtime", []string{"api", "internal/core", "internal/portowner", "internal/retention"},
		"a runtime does single steps and decides nothing"},
	{"internal/messenger", []string{"api", "internal/core"},
		"messages to people that others decided on; controllers reach it through a function"},
	{"internal/confine", []string{"internal/core"},
		"calls that may not reach this machine; who makes them, and why, is their caller's concern"},
	{"internal/webhook", []string{"internal/confine", "internal/core"},
		"HTTP calls that others decided on; controllers reach it through a function"},
	{"internal/nodeapi", []string{"api", "internal/runtime"},
		"what an agent may ask and report, and a server of a node, whatever carries it"},
	{"internal/nodeapi/local", []string{"api", "internal/core", "internal/imageask", "internal/records",
		"internal/nodeapi", "internal/store"},
		"what a node may see of the store, and what its reports become there; agents are clients like any other"},
	{"internal/agent", []string{"api", "client", "internal/build", "internal/confine", "internal/core", "internal/engine", "internal/ingress", "internal/nodeapi", "internal/portowner", "internal/retention", "internal/runtime", "internal/tracing", "internal/relay", "internal/version"},
		"an agent reaches the control plane through the node protocol alone, never through the store: it may be far away"},
	{"internal/tracing", []string{"api"}, "spans of whatever work there is; what the work is, its callers say"},
	{"internal/telemetry", []string{"internal/runtime", "internal/store", "internal/tracing"},
		"it measures the two borders to the world, and changes no answer"},
	{"internal/telemetry/census", []string{"api", "internal/records", "internal/store"}, "it counts what the view shows"},
	{"internal/servicemanager", nil,
		"it says to systemd what it is given; what a process waits for is the process's concern"},
	{"internal/race", nil, "a constant for tests"},
	{"internal/portowner", nil, "it reads /proc for the messages of any layer"},
	{"internal/connlimit", nil, "it bounds the connections of any listener; the protocol is its user's concern"},
	{"internal/limit", nil, "it counts what each of many has of what all share; what follows is its user's concern"},
	{"internal/clusterapi", []string{"api", "internal/core", "internal/limit", "internal/records", "internal/store"}, "what an operator of a Kubernetes cluster may see of the store, and what it says there; what it is to do, the controllers decide"},
	{"internal/operator/agent", []string{"api"}, "the pull protocol on a cluster's side; what a resource is, and where things are kept, its user knows"},
	{"internal/ingress", []string{"api", "internal/confine", "internal/connlimit", "internal/core", "internal/pki", "internal/portowner", "internal/relay", "internal/servicemanager"}, "a proxy serves the table it is given; callers say which pods are ready"},
	{"internal/certstore", []string{"internal/store"}, "bytes of certificates in the store; what they are is the proxy's affair"},
	{"internal/build", []string{"api", "internal/core", "internal/gitcmd"}, "from a folder of source to what an image is made from; engines and stores are others' affairs"},
	{"internal/subprocess", nil, "a program is run within bounds; which one, and what for, is its user's concern"},
	{"internal/gitcmd", []string{"internal/subprocess"},
		"git is called within bounds; what is fetched is its user's concern"},
	{"internal/plugin", []string{"api", "internal/core", "internal/build", "internal/gitcmd", "internal/subprocess"},
		"programs are run and their answers read; what is stored of them is the broker's affair"},
	{"internal/plugin/broker", []string{"api", "internal/core", "internal/verbs", "internal/records", "internal/plugin"},
		"what plugins ask for is done through the verbs, as what people ask for is"},
	{"internal/fault", []string{"internal/store", "internal/runtime"},
		"failpoints stand around the two borders to the world"},
	{"internal/server", []string{"api", "client/execwire", "internal/blob", "internal/build", "internal/connlimit",
		"internal/core", "internal/eventlog", "internal/execstream", "internal/verbs", "internal/records",
		"internal/manifest", "internal/nodeapi", "internal/plugin", "internal/plugin/broker", "internal/portowner",
		"internal/runtime", "internal/secret", "internal/store", "internal/version", "internal/tracing"},
		"HTTP over the verbs and the view; it is built by the daemon and knows neither it nor the controllers"},
	{"internal/overlay", []string{"api", "internal/core"}, "the network of a machine is made as asked; who asks is the host's concern"},
	{"internal/netpolicy", []string{"api"}, "a machine keeps apart what it is given; who says where containers are is the host's concern"},
	{"internal/resolver", []string{"api"}, "names are answered as the control plane says; who carries the question is the host's concern"},
	{"internal/host", []string{"api", "internal/agent", "internal/asset", "internal/blob", "internal/build", "internal/connlimit", "internal/engine", "internal/ingress",
		"internal/netpolicy", "internal/nodeapi", "internal/overlay", "internal/resolver", "internal/retention", "internal/runtime", "internal/telemetry", "internal/tracing", "internal/portowner", "internal/relay", "internal/nodeapi/authority", "internal/servicemanager"}, "a machine knows the node protocol and nothing of the store: its server may be far away"},
	{"internal/member", []string{"internal/connlimit", "internal/core", "internal/engine", "internal/host", "internal/nodeapi/authority", "internal/nodeapi/join", "internal/nodeapi/remote", "internal/nodeapi/session", "internal/peer", "internal/secret",
		"internal/servicemanager", "internal/version"},
		"a host as a process of its own, with a connection to its server"},
	{"internal/daemon", []string{"api", "internal/asset", "internal/backup", "internal/backup/restore", "internal/blob", "internal/certstore", "internal/clusterapi", "internal/connlimit", "internal/control", "internal/controlplane", "internal/core", "internal/engine", "internal/eventlog",
		"internal/host", "internal/ingress", "internal/limit", "internal/verbs", "internal/records", "internal/manifest", "internal/messenger", "internal/nodeapi", "internal/nodeapi/authority", "internal/nodeapi/join",
		"internal/nodeapi/local", "internal/nodeapi/remote", "internal/nodeapi/session", "internal/nodeapi/wire", "internal/peer", "internal/plugin", "internal/plugin/broker", "internal/portowner", "internal/retention", "internal/rotation", "internal/runtime", "internal/secret",
		"internal/server", "internal/servicemanager", "internal/store", "internal/syncer", "internal/version", "internal/watcher", "internal/webhook", "internal/telemetry", "internal/telemetry/census"}, "the one place where parts of a server are put together; commands come above it"},
	{"internal/cli", []string{"api", "client", "internal/backup", "internal/backup/restore", "internal/build", "internal/compose", "internal/core", "internal/daemon", "internal/eventlog", "internal/fault", "internal/host", "internal/manifest", "internal/member", "internal/messenger", "internal/ownership",
		"internal/runtime", "internal/secret", "internal/version", "internal/tracing"},
		"commands speak to a server through the public client, as any other program would; adopt alone also stops containers of others"},
	{"internal/operator/identity", []string{"api"}, "names that the operator and the control plane both use"},
	{"internal/operator/clusterid", []string{"api/kube"}, "who this cluster is; every controller of the operator asks"},
	{"internal/operator/apply", []string{"internal/operator/identity"}, "how objects are written; what is written, the reconcilers say"},
	{"internal/operator/transition", []string{"internal/operator/identity"}, "how Events are written, so that none is lost; what they say, the deciders know"},
	{"internal/operator/gate", []string{"api/kube", "internal/operator/identity"}, "what may be worked on is decided from values; controllers and webhooks ask"},
	{"internal/operator/servingcert", []string{"internal/operator/clusterid", "internal/operator/identity", "internal/pki"}, "the certificate of the webhooks; what they answer, others decide"},
	{"internal/operator/downstream", nil, "watches of kinds that may be absent; what follows from an event is the reconciler's concern"},
	{"internal/operator/instance", []string{"api", "api/kube", "internal/operator/apply", "internal/operator/clusterid", "internal/operator/downstream", "internal/operator/gate", "internal/operator/identity", "internal/operator/operation", "internal/operator/transition", "internal/operator/window"},
		"application instances become objects of Flux; what an operation does is its engine's concern"},
	{"internal/operator/podlog", []string{"api", "api/kube", "internal/operator/identity", "internal/operator/instance"},
		"what pods print is read; who asks, and whether it is the control plane, its user checks"},
	{"internal/operator/window", []string{"internal/core/timetable", "internal/operator/identity"},
		"when an application may be changed; what waits for it, the reconcilers say"},
	{"internal/operator/engine", []string{"api/kube", "internal/operator/identity"},
		"what an engine creates and observes is a function of values"},
	{"internal/operator/operation",
		[]string{"api/kube", "internal/core/approval", "internal/operator/apply", "internal/operator/engine",
			"internal/operator/gate", "internal/operator/identity", "internal/operator/transition", "internal/operator/window"},
		"what becomes of an operation is decided from values alone"},
	{"internal/operator/operation/controller",
		[]string{"api/kube", "internal/operator/apply", "internal/operator/clusterid", "internal/operator/downstream",
			"internal/operator/engine", "internal/operator/gate", "internal/operator/identity", "internal/operator/operation",
			"internal/operator/transition"},
		"reads and writes a cluster; decides nothing"},
	{"internal/operator/cluster", []string{"api", "api/kube", "internal/operator/agent", "internal/operator/apply",
		"internal/operator/clusterid", "internal/operator/gate", "internal/operator/identity",
		"internal/operator/transition"},
		"the connection of a cluster to its control plane; what the objects that come over it mean, others decide"},
	{"internal/operator/detach", []string{"api/kube", "internal/operator/apply", "internal/operator/identity"},
		"it unties what the operator has made; the operator does not run then"},
	{"internal/operator/fluxtest", []string{"api/kube", "internal/operator", "internal/operator/kubetest"},
		"stories of the operator with Flux's own controllers"},
	{"internal/operator/kubetest", []string{"api/kube", "internal/operator/identity", "internal/store"},
		"a Kubernetes API server for tests"},
	{"internal/operator/tendtest",
		[]string{"api", "internal/clusterapi", "internal/control", "internal/engine", "internal/records", "internal/store",
			"internal/verbs"}, "a control plane of Tend for tests"},
	{"internal/operator/demo", []string{"internal/operator/identity", "internal/operator/kubetest"},
		"a demonstration from outside: it runs the binaries"},
	{"internal/operator", []string{"api/kube", "internal/operator/cluster", "internal/operator/clusterid",
		"internal/operator/gate", "internal/operator/identity", "internal/operator/instance", "internal/operator/operation",
		"internal/operator/operation/controller", "internal/operator/podlog", "internal/operator/servingcert"},
		"the one place where the operator's controllers are put together"},
	{"cmd/tend-operator", []string{"api/kube", "internal/operator", "internal/operator/detach", "internal/operator/gate",
		"internal/version"}, "the operator is a program of its own, and links nothing of the server"},
	{"cmd", []string{"internal/cli", "internal/runtime/process"},
		"main hands over; the process runtime's shim is the same binary"},
	{"examples", []string{"api", "client"}, "an example shows what a user could write"},
	{"internal/simulation", []string{"api", "client", "internal"},
		"a simulated world stands around the whole server; nothing of the product knows it"},
	{"internal/mutants", nil, "it breaks the sources of other packages and runs their tests, as programs"},
	{"bench", []string{"api", "client", "internal"}, "benchmarks measure every part"},
	{"internal/e2e", nil, "it is tests alone: of the binary, through its commands and the API"},
	{"internal/distribution/manpages", []string{"internal/cli"}, "it describes the commands and runs none"},
	{"internal/distribution", nil, "what Tend is shipped with is written beside the binary, not by it"},
	{"internal/ci", nil, "what CI must run and how long it took concerns no part of the product"},
	{"internal/testimage", nil, "the image tests run"},
	{"internal/disktest", nil, "disks that tests stall and fill"},
	{"internal/histories", nil, "it is tests alone: of three servers, through the API"},
	{"internal/arch", nil, "it reads sources, it runs none"},
}

// everywhere is what any package of the server and the agent may import.
var everywhere = []string{"api/pattern", "internal/delay", "internal/recovery"}

func TestImportsRunOneWay(t *testing.T) { report(t, wrongImports(sources(t), layers)) }

func TestEveryFolderHasItsLayer(t *testing.T) { report(t, unlayered(sources(t), layers)) }

func wrongImports(all []*source, table []layer) []string {
	var faults []string
	for _, s := range all {
		rule, ok := layerOf(s.folder(), table)
		if s.test || !ok {
			continue
		}
		for _, imported := range s.imports {
			own, ours := strings.CutPrefix(imported, module+"/")
			free := slices.Contains(everywhere, own) && within(rule.folder, "internal") && rule.folder != "internal/core"
			if !ours || free || allowed(own, rule, table) {
				continue
			}
			faults = append(faults, fmt.Sprintf("%s imports %s, but %s may import %v: %s", s.name, own,
				rule.folder, rule.may, rule.why))
		}
	}
	return faults
}

// allowed: a permission covers what is below its folder, but not a layer of its own that lies there: who may import
// nodeapi has no nodeapi/local by that. A folder that isn't a layer (internal) covers all.
func allowed(imported string, rule layer, table []layer) bool {
	target, _ := layerOf(imported, table)
	if within(imported, rule.folder) && target.folder == rule.folder {
		return true
	}
	return slices.ContainsFunc(rule.may, func(folder string) bool {
		permitted, isLayer := layerOf(folder, table)
		return within(imported, folder) && (!isLayer || permitted.folder == target.folder)
	})
}

func unlayered(all []*source, table []layer) []string {
	var faults []string
	used := map[string]bool{}
	for _, s := range all {
		rule, ok := layerOf(s.folder(), table)
		used[rule.folder] = true
		if !ok {
			faults = append(faults,
				fmt.Sprintf("%s is in no layer: add its folder to the table, with what it may import and why", s.name))
		}
	}
	for _, rule := range table {
		if !used[rule.folder] {
			faults = append(faults, fmt.Sprintf("the layer %s has no files: take it out of the table", rule.folder))
		}
	}
	return faults
}

func layerOf(folder string, table []layer) (found layer, ok bool) {
	for _, rule := range table {
		if within(folder, rule.folder) && len(rule.folder) > len(found.folder) {
			found, ok = rule, true
		}
	}
	return found, ok
}
