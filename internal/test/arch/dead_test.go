package arch

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
	"testing"
)

// forTests are the folders that no program links, with the reason for each, besides those whose name ends in "test" and
// those that only have tests.
var forTests = map[string]string{
	"internal/kinds/toy":                   "the smallest kind: tests add it to see that a kind is a folder and a line",
	"internal/test/race":                   "a constant for tests",
	"internal/node/runtime/hollow":         "the simulated runtime",
	"internal/test/simulation":             "the simulated world",
	"internal/operator/simulation/cluster": "the API server of simulated clusters",
	"internal/store/storefault":            "commits without an answer",
	"internal/test/testimage":              "the image that tests and benchmarks run",
}

func TestEveryFunctionIsCalled(t *testing.T) { report(t, uncalled(sources(t))) }

func TestEveryPackageIsLinked(t *testing.T) { report(t, unlinkedFolders(sources(t), forTests)) }

// uncalled finds functions of the product that only tests use, or nothing: a test of them proves nothing about the
// product. It skips methods, which an interface may call, and the exported functions of api and client, which are for
// other programs.
func uncalled(all []*source) (faults []string) {
	used := map[string]bool{}
	for _, s := range all {
		if !s.test && !isForTests(s.folder()) {
			noteUses(s, used)
		}
	}
	for _, s := range all {
		if s.test || isForTests(s.folder()) || ast.IsGenerated(s.ast) {
			continue
		}
		public := within(s.folder(), "api") || within(s.folder(), "client")
		for _, decl := range s.ast.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || f.Name.Name == "init" || f.Name.Name == "main" || public && f.Name.IsExported() {
				continue
			}
			if !used[s.folder()+"."+f.Name.Name] {
				faults = append(faults,
					fmt.Sprintf("%s: only tests call %s, or nothing does: delete it, and test what the product calls",
						s.at(f), f.Name.Name))
			}
		}
	}
	return faults
}

// noteUses adds the names that a file uses, as folder.Name. A function that names itself doesn't use itself.
func noteUses(s *source, used map[string]bool) {
	for _, decl := range s.ast.Decls {
		own := ""
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
			own = f.Name.Name
		}
		ast.Inspect(decl, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.SelectorExpr:
				if base, ok := n.X.(*ast.Ident); ok {
					if folder, ours := strings.CutPrefix(s.imports[base.Name], module+"/"); ours {
						used[folder+"."+n.Sel.Name] = true
					}
				}
			case *ast.Ident:
				if n.Name != own {
					used[s.folder()+"."+n.Name] = true
				}
			}
			return true
		})
	}
}

func isForTests(folder string) bool {
	return strings.HasSuffix(path.Base(folder), "test") || forTests[folder] != ""
}

// unlinkedFolders finds packages that no program links and that aren't for tests, and entries of the table that a
// program links or that don't exist. The packages of api and client are for other programs too.
func unlinkedFolders(all []*source, table map[string]string) (faults []string) {
	imports := map[string][]string{}
	var todo []string
	for _, s := range all {
		if s.test {
			continue
		}
		folder := s.folder()
		if path.Base(s.name) == "doc.go" && len(s.ast.Decls) == 0 && imports[folder] == nil {
			continue // a folder with only a doc.go has no code to link
		}
		imports[folder] = append(imports[folder], "")
		if s.ast.Name.Name == "main" {
			todo = append(todo, folder)
		}
		for _, imported := range s.imports {
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
				imports[folder] = append(imports[folder], ours)
			}
		}
	}
	linked := map[string]bool{"": true}
	for len(todo) > 0 {
		folder := todo[0]
		todo = todo[1:]
		if !linked[folder] {
			linked[folder] = true
			todo = append(todo, imports[folder]...)
		}
	}
	for folder := range imports {
		public := within(folder, "api") || within(folder, "client")
		if !linked[folder] && !public && table[folder] == "" && !strings.HasSuffix(path.Base(folder), "test") {
			faults = append(faults, fmt.Sprintf("no program links %s: delete it, or add it to forTests with the reason", folder))
		}
	}
	for folder := range table {
		if imports[folder] == nil {
			faults = append(faults, fmt.Sprintf("%s is in forTests and doesn't exist: remove the entry", folder))
		}
	}
	return faults
}
