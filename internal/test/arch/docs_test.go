package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestEveryPackageSaysWhatItIs(t *testing.T) { report(t, undocumented(sources(t))) }

func TestEveryMetricIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/operate/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	report(t, metricFaults(sources(t), string(page)))
}

// TestEveryProblemHasItsPage: the type of an error leads to a page below docs/use/errors, and each page is some
// error's.
func TestEveryProblemHasItsPage(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs/use/errors/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, page := range pages {
		if name := strings.TrimSuffix(filepath.Base(page), ".md"); name != "README" {
			have[name] = true
		}
	}
	report(t, problemFaults(sources(t), have, readPage(t, "docs/use/errors/README.md")))
}

// problemFaults compares the reasons that problems are called by with the pages and their index.
func problemFaults(all []*source, pages map[string]bool, index string) (faults []string) {
	exist := map[string]bool{}
	for _, s := range all {
		if s.test {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			for _, name := range problemNames(s, n) {
				exist[name] = true
			}
			return true
		})
	}
	for name := range exist {
		if !pages[name] || !strings.Contains(index, "| ["+name+"]("+name+".md) |") {
			faults = append(faults, fmt.Sprintf("docs/use/errors has no page %s.md, or its README doesn't list it", name))
		}
	}
	for name := range pages {
		if !exist[name] {
			faults = append(faults, fmt.Sprintf("docs/use/errors/%s.md describes an error that does not exist", name))
		}
	}
	return faults
}

// problemNames returns the values of constants of type Reason in the packages of verbs and plugins, the titles of
// package api, and literals after api.ProblemType.
func problemNames(s *source, n ast.Node) []string {
	switch n := n.(type) {
	case *ast.ValueSpec:
		kind, _ := n.Type.(*ast.Ident)
		reason := kind != nil && kind.Name == "Reason" && (s.folder() == "internal/control/verbs" || s.folder() == "internal/compat/plugin")
		title := s.folder() == "api" && len(n.Names) == 1 &&
			(n.Names[0].Name == "OutcomeUnknown" || n.Names[0].Name == "TreesWanted")
		if reason || title {
			return literals(n.Values)
		}
	case *ast.BinaryExpr:
		if selector, ok := n.X.(*ast.SelectorExpr); ok && selector.Sel.Name == "ProblemType" {
			return literals([]ast.Expr{n.Y})
		}
	}
	return nil
}

func literals(values []ast.Expr) (out []string) {
	for _, value := range values {
		if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, _ := strconv.Unquote(literal.Value)
			out = append(out, text)
		}
	}
	return out
}

// undocumented finds packages without a package comment. A package of several files must have it in doc.go.
func undocumented(all []*source) []string {
	files := map[string]int{}
	comment := map[string]string{}
	for _, s := range all {
		if s.test {
			continue
		}
		files[s.folder()]++
		if s.ast.Doc != nil && strings.TrimSpace(s.ast.Doc.Text()) != "" {
			comment[s.folder()] = path.Base(s.name)
		}
	}
	var faults []string
	for folder, count := range files {
		switch file, ok := comment[folder]; {
		case !ok:
			faults = append(faults, fmt.Sprintf("%s has no package comment: say what it decides and what it never does", folder))
		case count > 1 && file != "doc.go" && file != "main.go":
			faults = append(faults, fmt.Sprintf("%s has its package comment in %s: readers look for it in doc.go", folder, file))
		}
	}
	return faults
}

var metricName = regexp.MustCompile(`^tend_[a-z_]+$`)

// documentedName is a metric in the first column of a table.
var documentedName = regexp.MustCompile("(?m)^\\| `(tend_[a-z_]+)`")

// metricFaults compares the metric names in sources with the tables of the page, both ways.
func metricFaults(all []*source, page string) []string {
	const client = "github.com/prometheus/client_golang/prometheus"
	documented := map[string]bool{}
	for _, match := range documentedName.FindAllStringSubmatch(page, -1) {
		documented[match[1]] = true
	}
	var faults []string
	exist := map[string]bool{}
	for _, s := range all {
		if s.test || s.imports["prometheus"] != client {
			continue
		}
		ast.Inspect(s.ast, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if name, err := strconv.Unquote(literal.Value); err == nil && metricName.MatchString(name) {
				exist[name] = true
				if !documented[name] {
					faults = append(faults, fmt.Sprintf("%s: docs/operate/metrics.md does not list %s", s.at(node), name))
				}
			}
			return true
		})
	}
	for name := range documented {
		if !exist[name] {
			faults = append(faults, fmt.Sprintf("docs/operate/metrics.md lists %s, which does not exist", name))
		}
	}
	return faults
}
