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
	{"internal/core/ownership", []string{"api"},
		"who set which field is a function of values, like core; the verbs and the blame query call it"},
	{"internal/store", nil, "a store knows bytes and revisions, no kinds"},
	{"internal/store/records", []string{"api", "internal/store"}, "what lies where in the store; no decisions"},
	{"internal/store/imageask", []string{"api", "internal/core", "internal/store/records"},
		"who is asked for an image is read once, for those who ask and those who wait"},
	{"internal/store/secret", nil, "keys and sealing serve every layer and know none"},
	{"internal/platform/retention", nil, "who owns a file and how long it waits; what the file is for is the collector's concern"},
	{"internal/store/blob", []string{"internal/platform/retention"}, "bytes by their digest; what they are for is the concern of others"},
	{"internal/platform/version", nil, "what the binary says of itself"},
	{"internal/input/asset", []string{"api", "internal/store/blob", "internal/platform/confine", "internal/platform/retention"}, "what assets hold is fetched and collected by its digests; callers say who refers to them"},
	{"internal/platform/delay", nil, "it waits; how long and for what is its callers' concern"},
	{"internal/platform/recovery", nil, "any goroutine may panic; what is done then is its starter's concern"},
	{"internal/input/manifest", []string{"api", "internal/core"}, "text to objects, without a server or a store"},
	{"internal/input/compose", []string{"api", "internal/core", "internal/input/manifest"},
		"Compose files to manifests, without a server"},
	{"internal/server/backup", []string{"api", "internal/store/records", "internal/store"},
		"what a backup's file holds and how it is read; it encrypts nothing, and no root is its business"},
	{"internal/server/backup/restore", []string{"api", "internal/server/backup", "internal/store/records", "internal/platform/retention",
		"internal/store/secret", "internal/store"},
		"a root is made from a file, without a server"},
	{"internal/control/verbs", []string{"api", "internal/core", "internal/store/imageask", "internal/store/records", "internal/core/ownership",
		"internal/store", "internal/store/secret", "internal/observe/tracing"},
		"the verbs write what is desired; running it isn't their concern"},
	{"internal/store/eventlog", []string{"api", "internal/core", "internal/store/records", "internal/store"},
		"events in the store: written beside what they are of, and read; what is sent anywhere is others' affair"},
	{"internal/engine", []string{"internal/store"}, "when a key is reconciled, never what is done about it"},
	{"internal/control/watcher", []string{"internal/core"},
		"it polls what it is given and says what changed; what is listed, and what follows, is its user's concern"},
	{"internal/control/syncer", []string{"api", "internal/input/build", "internal/platform/confine", "internal/core", "internal/platform/gitcmd",
		"internal/input/manifest", "internal/store/records", "internal/platform/subprocess", "internal/control/verbs"},
		"sources of manifests are fetched and applied through the verbs; when, is the controller's decision"},
	{"internal/control", []string{"api", "internal/core", "internal/engine", "internal/store/eventlog", "internal/store/imageask",
		"internal/store/records", "internal/store", "internal/observe/tracing", "internal/control/watcher"},
		"controllers write what should be; they reach no container, no socket and no agent"},
	{"internal/server/controlplane", []string{"api", "internal/control", "internal/core", "internal/engine", "internal/store/eventlog",
		"internal/store/records", "internal/store", "internal/platform/version", "internal/observe/tracing", "internal/control/watcher"},
		"the controllers of a term as one unit; what they do outside of the store is given to it"},
	{"internal/node/relay", []string{"api", "internal/platform/connlimit", "internal/node/nodeapi/authority"}, "connections between nodes; which pod is where, and who may ask, is for its caller to say"},
	{"internal/platform/pki", nil, "authorities and certificates; who gets one, for what and for how long, its callers decide"},
	{"internal/node/nodeapi/authority", []string{"internal/platform/pki"}, "certificates of servers and nodes; what a node may do is for others to decide"},
	{"internal/server/rotation", []string{"api", "internal/store/certstore", "internal/core", "internal/node/ingress/certs", "internal/node/nodeapi/authority", "internal/node/peer", "internal/store/records", "internal/store/secret", "internal/store"}, "what each phase of a rotation does; core/rekey decides when one is over, the server gives it a term"},
	{"internal/node/peer", []string{"api", "internal/core", "internal/node/nodeapi/authority", "internal/node/nodeapi/wire"}, "what servers are to each other: certificates and files; what is written is the store's concern"},
	{"internal/node/nodeapi/wire", []string{"api", "internal/input/build", "internal/core", "internal/node/runtime", "internal/observe/tracing"}, "how values and errors travel between a server and a node"},
	{"internal/node/nodeapi/remote", []string{"api", "internal/core", "internal/platform/limit", "internal/node/nodeapi", "internal/node/nodeapi/local", "internal/node/nodeapi/wire", "internal/observe/tracing"}, "the node protocol over HTTP/2: a server's half and an agent's"},
	{"internal/node/nodeapi/session", []string{"api", "internal/core", "internal/node/execstream", "internal/node/nodeapi", "internal/node/nodeapi/wire", "internal/node/runtime"},
		"a server's requests to a node, over the node's own connection"},
	{"internal/node/nodeapi/join", []string{"api", "internal/core", "internal/platform/limit", "internal/node/nodeapi/authority", "internal/node/nodeapi/wire", "internal/platform/pki"}, "how a machine becomes a node, before it has a certificate"},
	{"internal/node/execstream", []string{"api", "client/execwire", "internal/node/runtime"}, "the two ends of a command's connection"},
	{"internal/node/nodeapi/nodeapitest", []string{"api", "internal/store/certstore", "internal/core", "internal/platform/pki", "internal/store/records", "internal/node/nodeapi", "internal/node/nodeapi/authority", "internal/node/nodeapi/local", "internal/store"},
		"the contract that every transport of the node protocol keeps"},
	{"internal/node/runtime", []string{"api", "internal/core", "internal/platform/portowner", "internal/platform/retention"},
		"a runtime does single steps and decides nothing"},
	{"internal/control/messenger", []string{"api", "internal/core"},
		"messages to people that others decided on; controllers reach it through a function"},
	{"internal/platform/confine", []string{"internal/core"},
		"calls that may not reach this machine; who makes them, and why, is their caller's concern"},
	{"internal/control/webhook", []string{"internal/platform/confine", "internal/core"},
		"HTTP calls that others decided on; controllers reach it through a function"},
	{"internal/node/nodeapi", []string{"api", "internal/node/runtime"},
		"what an agent may ask and report, and a server of a node, whatever carries it"},
	{"internal/node/nodeapi/local", []string{"api", "internal/core", "internal/store/imageask", "internal/store/records",
		"internal/node/nodeapi", "internal/store"},
		"what a node may see of the store, and what its reports become there; agents are clients like any other"},
	{"internal/node/agent", []string{"api", "client", "internal/input/build", "internal/platform/confine", "internal/core", "internal/engine", "internal/node/ingress", "internal/node/nodeapi", "internal/platform/portowner", "internal/platform/retention", "internal/node/runtime", "internal/observe/tracing", "internal/node/relay", "internal/platform/version"},
		"an agent reaches the control plane through the node protocol alone, never through the store: it may be far away"},
	{"internal/observe/tracing", []string{"api"}, "spans of whatever work there is; what the work is, its callers say"},
	{"internal/observe/telemetry", []string{"internal/node/runtime", "internal/store", "internal/observe/tracing"},
		"it measures the two borders to the world, and changes no answer"},
	{"internal/observe/telemetry/census", []string{"api", "internal/store/records", "internal/store"}, "it counts what the view shows"},
	{"internal/platform/servicemanager", nil,
		"it says to systemd what it is given; what a process waits for is the process's concern"},
	{"internal/test/race", nil, "a constant for tests"},
	{"internal/platform/portowner", nil, "it reads /proc for the messages of any layer"},
	{"internal/platform/connlimit", nil, "it bounds the connections of any listener; the protocol is its user's concern"},
	{"internal/platform/limit", nil, "it counts what each of many has of what all share; what follows is its user's concern"},
	{"internal/server/clusterapi", []string{"api", "internal/core", "internal/platform/limit", "internal/store/records", "internal/store"}, "what an operator of a Kubernetes cluster may see of the store, and what it says there; what it is to do, the controllers decide"},
	{"internal/operator/agent", []string{"api"}, "the pull protocol on a cluster's side; what a resource is, and where things are kept, its user knows"},
	{"internal/node/ingress", []string{"api", "internal/platform/confine", "internal/platform/connlimit", "internal/core", "internal/platform/pki", "internal/platform/portowner", "internal/node/relay", "internal/platform/servicemanager"}, "a proxy serves the table it is given; callers say which pods are ready"},
	{"internal/store/certstore", []string{"internal/store"}, "bytes of certificates in the store; what they are is the proxy's affair"},
	{"internal/input/build", []string{"api", "internal/core", "internal/platform/gitcmd"}, "from a folder of source to what an image is made from; engines and stores are others' affairs"},
	{"internal/platform/subprocess", nil, "a program is run within bounds; which one, and what for, is its user's concern"},
	{"internal/platform/gitcmd", []string{"internal/platform/subprocess"},
		"git is called within bounds; what is fetched is its user's concern"},
	{"internal/compat/plugin", []string{"api", "internal/core", "internal/input/build", "internal/platform/gitcmd", "internal/platform/subprocess"},
		"programs are run and their answers read; what is stored of them is the broker's affair"},
	{"internal/compat/plugin/broker", []string{"api", "internal/core", "internal/control/verbs", "internal/store/records", "internal/compat/plugin"},
		"what plugins ask for is done through the verbs, as what people ask for is"},
	{"internal/test/fault", []string{"internal/store", "internal/node/runtime"},
		"failpoints stand around the two borders to the world"},
	{"internal/server", []string{"api", "client/execwire", "internal/store/blob", "internal/input/build", "internal/platform/connlimit",
		"internal/core", "internal/store/eventlog", "internal/node/execstream", "internal/control/verbs", "internal/store/records",
		"internal/input/manifest", "internal/node/nodeapi", "internal/compat/plugin", "internal/compat/plugin/broker", "internal/platform/portowner",
		"internal/node/runtime", "internal/store/secret", "internal/store", "internal/platform/version", "internal/observe/tracing"},
		"HTTP over the verbs and the view; it is built by the daemon and knows neither it nor the controllers"},
	{"internal/node/overlay", []string{"api", "internal/core"}, "the network of a machine is made as asked; who asks is the host's concern"},
	{"internal/node/netpolicy", []string{"api"}, "a machine keeps apart what it is given; who says where containers are is the host's concern"},
	{"internal/node/resolver", []string{"api"}, "names are answered as the control plane says; who carries the question is the host's concern"},
	{"internal/node/host", []string{"api", "internal/node/agent", "internal/input/asset", "internal/store/blob", "internal/input/build", "internal/platform/connlimit", "internal/engine", "internal/node/ingress",
		"internal/node/netpolicy", "internal/node/nodeapi", "internal/node/overlay", "internal/node/resolver", "internal/platform/retention", "internal/node/runtime", "internal/observe/telemetry", "internal/observe/tracing", "internal/platform/portowner", "internal/node/relay", "internal/node/nodeapi/authority", "internal/platform/servicemanager"}, "a machine knows the node protocol and nothing of the store: its server may be far away"},
	{"internal/node/member", []string{"internal/platform/connlimit", "internal/core", "internal/engine", "internal/node/host", "internal/node/nodeapi/authority", "internal/node/nodeapi/join", "internal/node/nodeapi/remote", "internal/node/nodeapi/session", "internal/node/peer", "internal/store/secret",
		"internal/platform/servicemanager", "internal/platform/version"},
		"a host as a process of its own, with a connection to its server"},
	{"internal/server/daemon", []string{"api", "internal/input/asset", "internal/server/backup", "internal/server/backup/restore", "internal/store/blob", "internal/store/certstore", "internal/server/clusterapi", "internal/platform/connlimit", "internal/control", "internal/server/controlplane", "internal/core", "internal/engine", "internal/store/eventlog",
		"internal/node/host", "internal/node/ingress", "internal/platform/limit", "internal/control/verbs", "internal/store/records", "internal/input/manifest", "internal/control/messenger", "internal/node/nodeapi", "internal/node/nodeapi/authority", "internal/node/nodeapi/join",
		"internal/node/nodeapi/local", "internal/node/nodeapi/remote", "internal/node/nodeapi/session", "internal/node/nodeapi/wire", "internal/node/peer", "internal/compat/plugin", "internal/compat/plugin/broker", "internal/platform/portowner", "internal/platform/retention", "internal/server/rotation", "internal/node/runtime", "internal/store/secret",
		"internal/server", "internal/platform/servicemanager", "internal/store", "internal/control/syncer", "internal/platform/version", "internal/control/watcher", "internal/control/webhook", "internal/observe/telemetry", "internal/observe/telemetry/census"}, "the one place where parts of a server are put together; commands come above it"},
	{"internal/cli", []string{"api", "client", "internal/server/backup", "internal/server/backup/restore", "internal/input/build", "internal/input/compose", "internal/core", "internal/server/daemon", "internal/store/eventlog", "internal/test/fault", "internal/node/host", "internal/input/manifest", "internal/node/member", "internal/control/messenger", "internal/core/ownership",
		"internal/node/runtime", "internal/store/secret", "internal/platform/version", "internal/observe/tracing"},
		"commands speak to a server through the public client, as any other program would; adopt alone also stops containers of others"},
	{"internal/operator/identity", []string{"api"}, "names that the operator and the control plane both use"},
	{"internal/operator/clusterid", []string{"api/kube"}, "who this cluster is; every controller of the operator asks"},
	{"internal/operator/apply", []string{"internal/operator/identity"}, "how objects are written; what is written, the reconcilers say"},
	{"internal/operator/transition", []string{"internal/operator/identity"}, "how Events are written, so that none is lost; what they say, the deciders know"},
	{"internal/operator/gate", []string{"api/kube", "internal/operator/identity"}, "what may be worked on is decided from values; controllers and webhooks ask"},
	{"internal/operator/servingcert", []string{"internal/operator/clusterid", "internal/operator/identity", "internal/platform/pki"}, "the certificate of the webhooks; what they answer, others decide"},
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
		[]string{"api", "internal/server/clusterapi", "internal/control", "internal/engine", "internal/store/records", "internal/store",
			"internal/control/verbs"}, "a control plane of Tend for tests"},
	{"internal/operator/demo", []string{"internal/operator/identity", "internal/operator/kubetest"},
		"a demonstration from outside: it runs the binaries"},
	{"internal/operator", []string{"api/kube", "internal/operator/cluster", "internal/operator/clusterid",
		"internal/operator/gate", "internal/operator/identity", "internal/operator/instance", "internal/operator/operation",
		"internal/operator/operation/controller", "internal/operator/podlog", "internal/operator/servingcert"},
		"the one place where the operator's controllers are put together"},
	{"cmd/tend-operator", []string{"api/kube", "internal/operator", "internal/operator/detach", "internal/operator/gate",
		"internal/platform/version"}, "the operator is a program of its own, and links nothing of the server"},
	{"cmd", []string{"internal/cli", "internal/node/runtime/process"},
		"main hands over; the process runtime's shim is the same binary"},
	{"examples", []string{"api", "client"}, "an example shows what a user could write"},
	{"internal/test/simulation", []string{"api", "client", "internal"},
		"a simulated world stands around the whole server; nothing of the product knows it"},
	{"internal/test/mutants", nil, "it breaks the sources of other packages and runs their tests, as programs"},
	{"bench", []string{"api", "client", "internal"}, "benchmarks measure every part"},
	{"internal/test/e2e", nil, "it is tests alone: of the binary, through its commands and the API"},
	{"internal/ci/manpages", []string{"internal/cli"}, "it describes the commands and runs none"},
	{"internal/ci", nil, "what Tend is shipped with is written beside the binary, not by it"},
	{"internal/ci", nil, "what CI must run and how long it took concerns no part of the product"},
	{"internal/test/testimage", nil, "the image tests run"},
	{"internal/test/disktest", nil, "disks that tests stall and fill"},
	{"internal/test/histories", nil, "it is tests alone: of three servers, through the API"},
	{"internal/test/arch", nil, "it reads sources, it runs none"},
}

// everywhere is what any package of the server and the agent may import.
var everywhere = []string{"api/pattern", "internal/platform/delay", "internal/platform/recovery"}

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
// nodeapi has no node/nodeapi/local by that. A folder that isn't a layer (internal) covers all.
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
