package arch

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write docs/use/reasons.md again")

// declaresReasons reports whether a file is one of those that declare reasons: api/reasons.go, and those whose names go
// on from there.
func declaresReasons(name string) bool {
	return name == "api/reasons.go" || strings.HasPrefix(name, "api/reasons_")
}

// TestReasonsPage: docs/use/reasons.md is made from api/reasons.go and the files beside it.
func TestReasonsPage(t *testing.T) {
	var declared []*source
	for _, s := range sources(t) {
		if declaresReasons(s.name) && !s.test {
			declared = append(declared, s)
		}
	}
	slices.SortFunc(declared, func(a, b *source) int { return strings.Compare(a.name, b.name) })
	page := reasonsPage(declared)
	if *rewrite {
		if err := os.WriteFile(filepath.Join(root, "docs/use/reasons.md"), []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if page != readPage(t, "docs/use/reasons.md") {
		t.Error("docs/use/reasons.md is not what api/reasons.go says: go test ./internal/test/arch -run TestReasonsPage -rewrite")
	}
}

// reasonsPage returns the page: a table for each block of constants.
func reasonsPage(declared []*source) string {
	var page strings.Builder
	page.WriteString("# Reasons\n\nThe words that say in a condition, or of a pod, a run or a node, why it is as it is. Programs may compare them.\n" +
		"[What to do about those of a deployment](kinds/deployment.md#conditions), and about [errors](errors/README.md).\n")
	var all []ast.Decl
	for _, s := range declared {
		all = append(all, s.ast.Decls...)
	}
	for _, each := range all {
		block, ok := each.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		title := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(block.Doc.Text()), "Reasons of "), ".")
		fmt.Fprintf(&page, "\n## Of %s\n\n| reason | meaning |\n| --- | --- |\n", title)
		for _, spec := range block.Specs {
			value := spec.(*ast.ValueSpec)
			word, _ := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
			_, meaning, _ := strings.Cut(strings.Join(strings.Fields(value.Doc.Text()), " "), ": ")
			fmt.Fprintf(&page, "| `%s` | %s |\n", word, strings.TrimSuffix(meaning, "."))
		}
	}
	return page.String()
}

// TestReasonsAreDeclaredOnce: in the api, under the name of the word.
func TestReasonsAreDeclaredOnce(t *testing.T) { report(t, declaredReasonFaults(sources(t))) }

func declaredReasonFaults(all []*source) (faults []string) {
	for _, s := range all {
		if s.test {
			continue
		}
		ast.Inspect(s.ast, func(node ast.Node) bool {
			value, ok := node.(*ast.ValueSpec)
			if !ok || len(value.Values) != 1 || !strings.HasPrefix(strings.ToLower(value.Names[0].Name), "reason") {
				return true
			}
			literal, ok := value.Values[0].(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if word, _ := strconv.Unquote(literal.Value); reasonWord.MatchString(word) &&
				(!declaresReasons(s.name) || value.Names[0].Name != "Reason"+word) {
				faults = append(faults, fmt.Sprintf("%s declares the reason %s: declare Reason%s in api/reasons.go",
					s.at(value), word, word))
			}
			return true
		})
	}
	return faults
}
