package arch

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// processes are the packages that make up server and agent: everything they link must survive a panic.
var processes = []string{"internal/server/daemon", "internal/node/host", "internal/node/member"}

// ownGoroutines are packages below them that start goroutines themselves.
var ownGoroutines = map[string]string{
	"internal/platform/recovery":               "it recovers",
	"internal/node/runtime/hollow":             "a container engine for tests",
	"internal/node/runtime/process/shim":       "a process of its own, one a container",
	"internal/node/runtime/runtimetest":        "tests",
	"internal/store/memory":                    "a store for tests",
	"internal/store/storefault":                "a store for tests",
	"internal/store/storetest":                 "tests",
	"internal/node/nodeapi/nodeapitest":        "tests",
	"internal/control/controltest":             "tests",
	"internal/control/messenger/messengertest": "tests",
	"internal/node/ingress/acmetest":           "tests",
}

// TestGoroutinesOutliveAPanic: a goroutine of the server or the agent is started by internal/platform/recovery, or the
// panic of one object ends the process, which then meets the same object again.
func TestGoroutinesOutliveAPanic(t *testing.T) {
	report(t, bareGoroutines(sources(t), processes, ownGoroutines))
}

func bareGoroutines(all []*source, roots []string, except map[string]string) (faults []string) {
	const why = "start it by recovery.Go, recovery.Group or recovery.AfterFunc: its panic would end the process"
	linked := linkedBy(all, roots)
	for _, s := range all {
		if s.test || !linked[s.folder()] || except[s.folder()] != "" {
			continue
		}
		groups := slices.Contains(slices.Collect(maps.Values(s.imports)), "golang.org/x/sync/errgroup")
		s.uses(func(pkg, name string, node ast.Node) { groups = groups || pkg == "sync" && name == "WaitGroup" })
		ast.Inspect(s.ast, func(node ast.Node) bool {
			bare := false
			switch n := node.(type) {
			case *ast.GoStmt:
				bare = true
			case *ast.CallExpr:
				starts := groups && called(n) == "Go" || called(n) == "AfterFunc" && !brief(n)
				bare = starts && !s.calls(n, "recovery")
			}
			if bare {
				faults = append(faults, fmt.Sprintf("%s starts a goroutine: %s", s.at(node), why))
			}
			return true
		})
	}
	return faults
}

// called returns the name of the method or the function of a package that is called.
func called(call *ast.CallExpr) string {
	if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
		return selector.Sel.Name
	}
	return ""
}

// calls reports whether a call is one of a package's functions.
func (s *source) calls(call *ast.CallExpr, pkg string) bool {
	selector, _ := call.Fun.(*ast.SelectorExpr)
	base, ok := selector.X.(*ast.Ident)
	return ok && base.Name == pkg
}

// brief reports whether a timer calls a function value, as that which cancels a context, or has one or two statements:
// it closes something.
func brief(call *ast.CallExpr) bool {
	switch fn := call.Args[len(call.Args)-1].(type) {
	case *ast.FuncLit:
		return len(fn.Body.List) <= 2
	case *ast.Ident:
		return true
	}
	return false
}

// linkedBy returns the folders that programs with these packages link.
func linkedBy(all []*source, roots []string) map[string]bool {
	imports := map[string]map[string]bool{}
	for _, s := range all {
		if imports[s.folder()] == nil {
			imports[s.folder()] = map[string]bool{}
		}
		for _, imported := range s.imports {
			if own, ours := strings.CutPrefix(imported, module+"/"); ours && !s.test {
				imports[s.folder()][own] = true
			}
		}
	}
	linked, next := map[string]bool{}, slices.Clone(roots)
	for len(next) > 0 {
		folder := next[0]
		if next = next[1:]; !linked[folder] {
			linked[folder] = true
			next = slices.AppendSeq(next, maps.Keys(imports[folder]))
		}
	}
	return linked
}
