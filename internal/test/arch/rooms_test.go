package arch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// room lists the imports from this module that a folder, and those below it, may have besides itself. Its tests may
// import more.
type room struct {
	folder string
	may    []string
	why    string
}

// rooms is the map of the house. A room imports only rooms above its own. The longest folder that fits counts.
var rooms = []room{
	{"api", nil, "values that every room uses, other programs too: they drag nothing along"},
	{"api/kube", nil, "kinds of Kubernetes, as its machinery wants them; they know nothing of Tend's own values"},
	{"client", []string{"api"}, "the public client needs the wire's values alone"},
	{"internal/core", []string{"api"}, "decisions are functions of values: what they can't reach they can't depend on"},
	{"internal/platform", []string{"api", "internal/core"}, "tools for any room; what they are used for is their users' concern"},
	{"internal/store", []string{"api", "internal/platform", "internal/core"}, "what is kept and read again; why, others decide"},
	{"internal/reconciler", []string{"internal/platform", "internal/store"}, "when a key is reconciled, never what is done about it"},
	{"internal/observe", []string{"api", "internal/platform", "internal/store"}, "it measures and traces, and changes no answer"},
	{"internal/input", []string{"api", "internal/platform", "internal/core", "internal/store"},
		"from text and folders to objects and images, without a server"},
	{"internal/control", []string{"api", "internal/platform", "internal/core", "internal/reconciler", "internal/input",
		"internal/observe", "internal/store"},
		"it says what should be, and touches no container and no agent"},
	{"internal/kinds", []string{"api", "internal/platform", "internal/control", "internal/core", "internal/reconciler",
		"internal/observe", "internal/store"},
		"a kind decides from a snapshot; when it is asked, and how its step is committed, control knows"},
	{"internal/node", []string{"api", "client/execwire", "internal/platform", "internal/core", "internal/reconciler",
		"internal/input", "internal/observe", "internal/store"},
		"a machine does what is asked of it; its server may be far away"},
	{"internal/compat", []string{"api", "internal/platform", "internal/control", "internal/core", "internal/input",
		"internal/store"}, "plugins of the predecessor; what they ask for is done through the verbs"},
	{"internal/server", []string{"api", "client/execwire", "internal/platform", "internal/compat", "internal/control",
		"internal/core", "internal/reconciler", "internal/input", "internal/kinds", "internal/node", "internal/observe",
		"internal/store"}, "the parts of a server, put together; commands come above it"},
	{"internal/operator", []string{"api", "internal/platform", "internal/core"},
		"a program of its own: it reaches the control plane over HTTP alone"},
	{"internal/cli", []string{"api", "client", "internal/platform", "internal/control/messenger", "internal/control/verb", "internal/core",
		"internal/input", "internal/node", "internal/observe", "internal/server", "internal/store", "internal/test/fault"},
		"commands speak to a server through the public client, as any other program would"},
	{"internal/ci", []string{"api", "internal/cli"}, "what builds, packages and checks Tend is no part of it"},
	{"cmd", []string{"internal/platform", "internal/cli", "internal/node/runtime/process", "internal/operator"},
		"main hands over; the process runtime's shim is the same binary"},
	{"examples", []string{"api", "client"}, "an example shows what a user could write"},
	{"bench", []string{"api", "client", "internal"}, "benchmarks measure every part"},
	{"internal/test", []string{"api", "client", "internal"}, "it stands around the product, which doesn't know it; only the commands link failpoints, by a build tag"},
}

// wall forbids imports within the rooms that would make one part of a room depend on another. A name that ends in /...
// covers the folder and those below it.
type wall struct {
	// Packages matching around must not import those matching not. Those matching but are exempt, on either side.
	around, not, but []string
	why              string
}

// clusterState are the folders through which the state of the cluster is read and written.
var clusterState = []string{"internal/store", "internal/store/etcd", "internal/store/eventlog", "internal/store/imageask",
	"internal/store/memory", "internal/store/records", "internal/store/view"}

var walls = []wall{
	{[]string{"api/..."}, []string{"api/kube/..."}, []string{"api/kube/..."},
		"programs that use the values don't link Kubernetes' machinery"},
	{[]string{"api/kube/..."}, []string{"api"}, nil, "kinds of Kubernetes are not Tend's values"},
	{[]string{"internal/store", "internal/store/etcd/...", "internal/store/memory/...", "internal/store/view"},
		[]string{"api/...", "internal/store/records"}, nil,
		"a store knows bytes and revisions, no kinds"},
	{[]string{"internal/reconciler"}, []string{"internal/store/view", "internal/store/records"}, nil,
		"the queue knows when, never what"},
	{[]string{"internal/control/..."}, []string{"internal/input/..."}, []string{"internal/control/syncer"},
		"only what fetches the sources of syncs reads manifests"},
	{[]string{"internal/control/verbs"}, []string{"internal/control", "internal/control/board", "internal/reconciler"}, nil,
		"the verbs write what is desired; running it isn't their concern"},
	{[]string{"internal/node/..."}, clusterState,
		[]string{"internal/node/nodeapi/local", "internal/node/nodeapi/nodeapitest"},
		"a machine reaches the control plane through the node protocol alone; local is the server's half of it"},
	{[]string{"internal/node/agent/...", "internal/node/host"},
		[]string{"internal/node/nodeapi/local", "internal/node/nodeapi/remote"}, nil,
		"an agent asks whatever carries the node protocol"},
	{[]string{"internal/node/runtime/...", "internal/node/ingress/...", "internal/node/overlay", "internal/node/netpolicy",
		"internal/node/resolver"},
		[]string{"internal/node/agent/...", "internal/node/host", "internal/node/nodeapi", "internal/node/nodeapi/local"}, nil,
		"these do single steps and decide nothing; the agent and the host call them"},
	{[]string{"internal/server"},
		[]string{"internal/server/...", "internal/kinds/...", "internal/control", "internal/reconciler"}, []string{"internal/server"},
		"HTTP over the verbs and the view knows neither the controllers nor the process that it is a part of"},
	{[]string{"cmd/tend"}, []string{"internal/operator/..."}, nil, "the server links nothing of the operator"},
	{[]string{"cmd/tend-operator"}, []string{"internal/cli/...", "internal/node/..."}, nil,
		"the operator links nothing of the server"},
}

func TestImportsRunOneWay(t *testing.T) { report(t, wrongImports(sources(t), rooms)) }

// TestRoomsStandInOrder: a room may only import rooms above it in the table, apart from failpoints, and from rooms that
// may import everything internal.
func TestRoomsStandInOrder(t *testing.T) {
	for i, r := range rooms {
		for _, folder := range r.may {
			above, _ := roomOf(folder, rooms[:i])
			if above.folder == "" && folder != "internal" && folder != "internal/test/fault" {
				t.Errorf("%s may import %s, which is not above it", r.folder, folder)
			}
		}
	}
}

func TestEveryFolderHasItsRoom(t *testing.T) { report(t, homeless(sources(t), rooms)) }

func TestWallsStand(t *testing.T) { report(t, breaches(sources(t), walls)) }

// TestKindsStandAlone: a kind imports no other one, apart from what kinds with tasks share.
func TestKindsStandAlone(t *testing.T) { report(t, crossedKinds(sources(t))) }

// ofProduct reports whether the rules hold for a file: not for tests, nor for packages that only tests use.
func ofProduct(s *source) bool {
	return !s.test && !isForTests(s.folder())
}

func wrongImports(all []*source, table []room) (faults []string) {
	for _, s := range all {
		rule, ok := roomOf(s.folder(), table)
		if !ok || !ofProduct(s) {
			continue
		}
		for imported := range ours(s) {
			target, _ := roomOf(imported, table)
			permitted := slices.ContainsFunc(rule.may, func(folder string) bool { return within(imported, folder) })
			if permitted || target.folder == rule.folder {
				continue
			}
			faults = append(faults,
				fmt.Sprintf("%s imports %s, but %s may import %v: %s", s.name, imported, rule.folder, rule.may, rule.why))
		}
	}
	return faults
}

// ours yields the folders of this module that a file imports.
func ours(s *source) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, imported := range s.imports {
			if own, ok := strings.CutPrefix(imported, module+"/"); ok && !yield(own) {
				return
			}
		}
	}
}

func homeless(all []*source, table []room) (faults []string) {
	used := map[string]bool{}
	for _, s := range all {
		rule, ok := roomOf(s.folder(), table)
		used[rule.folder] = true
		if !ok {
			faults = append(faults,
				fmt.Sprintf("%s is in no room: move its folder to the one that answers the same question", s.name))
		}
	}
	for _, rule := range table {
		if !used[rule.folder] {
			faults = append(faults, fmt.Sprintf("the room %s has no files: take it out of the table", rule.folder))
		}
	}
	return faults
}

func roomOf(folder string, table []room) (found room, ok bool) {
	for _, rule := range table {
		if within(folder, rule.folder) && len(rule.folder) > len(found.folder) {
			found, ok = rule, true
		}
	}
	return found, ok
}

func breaches(all []*source, walls []wall) (faults []string) {
	for _, w := range walls {
		for _, s := range all {
			if !ofProduct(s) || !covers(w.around, s.folder()) || covers(w.but, s.folder()) {
				continue
			}
			for imported := range ours(s) {
				if covers(w.not, imported) && imported != s.folder() && !covers(w.but, imported) {
					faults = append(faults, fmt.Sprintf("%s imports %s: %s", s.name, imported, w.why))
				}
			}
		}
	}
	return faults
}

// covers reports whether one of the patterns covers a folder.
func covers(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		below, all := strings.CutSuffix(pattern, "/...")
		return folder == pattern || all && within(folder, below)
	})
}

func crossedKinds(all []*source) (faults []string) {
	const kinds, shared = "internal/kinds/", "owner"
	of := func(folder string) string {
		name, ok := strings.CutPrefix(folder, kinds)
		if !ok {
			return ""
		}
		name, _, _ = strings.Cut(name, "/")
		return name
	}
	for _, s := range all {
		kind := of(s.folder())
		if kind == "" || !ofProduct(s) {
			continue
		}
		for imported := range ours(s) {
			if other := of(imported); other != "" && other != kind && other != shared {
				faults = append(faults,
					fmt.Sprintf("%s imports %s: what two kinds share is in %s%s", s.name, imported, kinds, shared))
			}
		}
	}
	return faults
}
