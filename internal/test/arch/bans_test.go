package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// ban restricts imports of a package, or of those below it, to some folders. Tests are exempt unless strict is set.
type ban struct {
	imported string
	only     []string
	strict   bool
	why      string
}

var bans = []ban{
	{"github.com/moby/moby", []string{"internal/node/runtime/docker", "bench"}, false,
		"one package speaks Docker, so that another runtime is a folder and not a search through the tree"},
	{"github.com/moby/buildkit", []string{"internal/node/runtime/docker", "internal/input/build/recipe"}, false,
		"its client costs 4 MB of binary: a session and the parser of Dockerfiles are what is used"},
	{"github.com/docker/cli", []string{"internal/node/runtime/docker"}, false,
		"docker's settings are read in one place, and only those: its commands link the world"},
	{"go.etcd.io/etcd", []string{"internal/store/etcd", "bench"}, false,
		"one package speaks etcd; the others have store.Store, and its contract"},
	{"sigs.k8s.io/controller-runtime", []string{"internal/operator", "cmd/tend-operator"}, true,
		"only the operator runs on Kubernetes' machinery"},
	{"k8s.io/api", []string{"internal/operator", "cmd/tend-operator"}, true,
		"only the operator knows Kubernetes' own kinds"},
	{"k8s.io/apimachinery", []string{"api/kube", "internal/operator", "cmd/tend-operator"}, true,
		"only the operator's kinds are Kubernetes' objects"},
	{"k8s.io/client-go", []string{"internal/reconciler", "internal/operator", "cmd/tend-operator"}, true,
		"its workqueue serves the engine, and all of it the operator"},
	{"sigs.k8s.io/structured-merge-diff", []string{"internal/core/ownership"}, true,
		"one package knows how sets of fields are written"},
	{"github.com/prometheus/client_golang",
		[]string{"internal/reconciler", "internal/node/agent/builder", "internal/node/agent/prober", "internal/node/ingress",
			"internal/server", "internal/server/daemon", "internal/node/host", "internal/node/member", "internal/operator", "internal/operator/link",
			"internal/operator/operation/controller", "internal/platform/recovery", "internal/observe/telemetry", "internal/node/runtime/measured",
			"internal/platform/version", "internal/control/watcher"}, false,
		"what is measured is measured at the borders; decisions are tested, not measured"},
	{"go.opentelemetry.io/otel/sdk", []string{"internal/observe/tracing"}, false,
		"one package knows how traces leave the process; the others say what there is to trace"},
	{"go.opentelemetry.io/otel/exporters", []string{"internal/observe/tracing"}, true, "as above"},
	{"github.com/spf13/cobra", []string{"internal/cli", "internal/ci/manpages"}, true,
		"commands are parsed in one place, and described in another"},
	{"github.com/danielgtaylor/huma", []string{"internal/server"}, true, "only the server is described by OpenAPI"},
	{"github.com/hashicorp/hcl", []string{"internal/input/manifest"}, true, "only manifests are written in HCL"},
	{"filippo.io/age", []string{"internal/store/secret"}, true, "one package encrypts"},
	{"github.com/docker/docker", nil, true,
		"the old client is not maintained any more; moby/moby/client is its successor"},
	{"github.com/spf13/viper", nil, true, "settings are flags and structs, not a global map"},
	{"github.com/stretchr/testify", nil, true, "go-cmp and plain if say more"},
	{"net/http/pprof", nil, true, "it registers itself on http.DefaultServeMux"},
	{"io/ioutil", nil, true, "its functions moved to io and os"},
	{"log", nil, false, "logs are structured: log/slog with stable keys"},
}

// impure lists what core must not import: a decision that reads a clock, the disk or chance can't be tested by its
// values.
var impure = []string{
	"context", "crypto/rand", "log", "log/slog", "math/rand", "net/http", "net/rpc", "os", "runtime", "sync", "syscall",
}

// clocks are the functions of time that read a clock or wait.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

func TestBannedImports(t *testing.T) { report(t, bannedImports(sources(t), bans)) }

func TestStandardLibraryOnly(t *testing.T) { report(t, foreignImports(sources(t), "api", "api/kube")) }

func TestCoreIsPure(t *testing.T) { report(t, impurities(sources(t), "internal/core")) }

func TestTestingStaysInTests(t *testing.T) { report(t, testingOutside(sources(t))) }

func TestNothingUsesTheDefaultMux(t *testing.T) { report(t, defaultMux(sources(t))) }

func TestTestsNeitherSkipNorSleep(t *testing.T) { report(t, lazyTests(sources(t))) }

func bannedImports(all []*source, table []ban) []string {
	var faults []string
	for _, s := range all {
		for _, imported := range s.imports {
			for _, b := range table {
				inside := slices.ContainsFunc(b.only, func(folder string) bool { return within(s.folder(), folder) })
				// A package of the standard library is banned by itself: log is not log/slog.
				hit := imported == b.imported || (strings.Contains(b.imported, ".") && within(imported, b.imported))
				if hit && !inside && (b.strict || !s.test) {
					faults = append(faults, fmt.Sprintf("%s imports %s, which only %v may: %s", s.name, imported, b.only, b.why))
				}
			}
		}
	}
	return faults
}

// foreignImports finds imports outside of the standard library in the files below folder, except those below except.
func foreignImports(all []*source, folder, except string) []string {
	var faults []string
	for _, s := range all {
		for _, imported := range s.imports {
			if !s.test && !within(s.folder(), except) && within(s.folder(), folder) &&
				strings.Contains(strings.Split(imported, "/")[0], ".") && !within(imported, module+"/"+folder) {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s is standard library alone, or its readers inherit it",
					s.name, imported, folder))
			}
		}
	}
	return faults
}

func impurities(all []*source, folder string) []string {
	const why = "core decides from values alone; hand the value in"
	var faults []string
	for _, s := range all {
		if s.test || !within(s.folder(), folder) {
			continue
		}
		for _, imported := range s.imports {
			if slices.ContainsFunc(impure, func(banned string) bool { return within(imported, banned) }) {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s", s.name, imported, why))
			}
		}
		s.uses(func(pkg, name string, node ast.Node) {
			if pkg == "time" && slices.Contains(clocks, name) || pkg == "net" && !strings.HasPrefix(name, "Parse") {
				faults = append(faults, fmt.Sprintf("%s uses %s.%s: %s", s.at(node), pkg, name, why))
			}
		})
	}
	return faults
}

func testingOutside(all []*source) []string {
	var faults []string
	for _, s := range all {
		_, imports := s.imports["testing"]
		if imports && !s.test && !strings.HasSuffix(s.folder(), "test") {
			faults = append(faults,
				fmt.Sprintf("%s imports testing: it registers flags in whatever links it; move it to a …test package", s.name))
		}
	}
	return faults
}

func defaultMux(all []*source) []string {
	var faults []string
	for _, s := range all {
		s.uses(func(pkg, name string, node ast.Node) {
			if pkg == "net/http" && slices.Contains([]string{"DefaultServeMux", "Handle", "HandleFunc"}, name) {
				faults = append(faults, fmt.Sprintf("%s uses http.%s: %s", s.at(node), name, ownMux))
			}
		})
		ast.Inspect(s.ast, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok && servesNil(s, call) {
				faults = append(faults, fmt.Sprintf("%s serves nil, which is http.DefaultServeMux: %s", s.at(node), ownMux))
			}
			return true
		})
	}
	return faults
}

const ownMux = "etcd registers pprof on the default mux, serve a mux of your own"

// servesNil: the functions of net/http that serve take their handler as the last argument, but for certificates' files.
func servesNil(s *source, call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS"}, selector.Sel.Name) {
		return false
	}
	base, ok := selector.X.(*ast.Ident)
	return ok && s.imports[base.Name] == "net/http" && slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
		name, ok := arg.(*ast.Ident)
		return ok && name.Name == "nil"
	})
}

// lazyTests finds tests that wait by the clock outside a synctest bubble, or that leave without a verdict.
func lazyTests(all []*source) []string {
	bubbles := []string{"internal/operator/simulation"} // which lives in one, whatever file sleeps
	var faults []string
	for _, s := range all {
		if !s.test {
			continue
		}
		_, bubble := s.imports["synctest"]
		bubble = bubble || slices.Contains(bubbles, s.folder())
		s.uses(func(pkg, name string, node ast.Node) {
			if pkg == "time" && name == "Sleep" && !bubble {
				faults = append(faults, fmt.Sprintf("%s sleeps: wait on a condition, or use testing/synctest", s.at(node)))
			}
		})
		ast.Inspect(s.ast, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok &&
				slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, selector.Sel.Name) {
				if base, ok := selector.X.(*ast.Ident); ok && (base.Name == "t" || base.Name == "b") {
					faults = append(faults,
						fmt.Sprintf("%s skips: a missing part is a failure, and what needs Docker has the build tag integration",
							s.at(node)))
				}
			}
			return true
		})
	}
	return faults
}
