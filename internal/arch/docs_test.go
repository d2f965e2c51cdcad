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
	page, err := os.ReadFile(filepath.Join(root, "docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	report(t, metricFaults(sources(t), string(page)))
}

// undocumented finds packages without a comment; one of several files has it in doc.go.
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

// metricFaults compares the names in sources that speak Prometheus with the tables of the page, both ways.
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
					faults = append(faults, fmt.Sprintf("%s: docs/metrics.md does not list %s", s.at(node), name))
				}
			}
			return true
		})
	}
	for name := range documented {
		if !exist[name] {
			faults = append(faults, fmt.Sprintf("docs/metrics.md lists %s, which does not exist", name))
		}
	}
	return faults
}
