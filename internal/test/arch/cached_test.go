package arch

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestCachedTestsRunNoPrograms: `make test-pure` takes results from Go's cache, which doesn't track the programs that a
// test runs. A test that runs one must be in another group, or it would pass without the tested change.
func TestCachedTestsRunNoPrograms(t *testing.T) {
	report(t, cachedPrograms(sources(t), uncached(t, readPage(t, "Makefile"))))
}

// uncached returns the pattern of the packages that run each time, as the Makefile has it.
func uncached(t *testing.T, makefile string) *regexp.Regexp {
	t.Helper()
	var patterns []string
	for _, name := range []string{"SHARED", "MACHINE", "PROCESSES"} {
		found := regexp.MustCompile(`(?m)^` + name + ` := (.*)$`).FindStringSubmatch(makefile)
		if found == nil {
			t.Fatalf("the Makefile names no packages as %s", name)
		}
		patterns = append(patterns, strings.NewReplacer("$(MODULE)/", "", "$$", "$").Replace(found[1]))
	}
	pattern, err := regexp.Compile(strings.Join(patterns, "|"))
	if err != nil {
		t.Fatal(err)
	}
	return pattern
}

func cachedPrograms(all []*source, uncached *regexp.Regexp) (faults []string) {
	for _, s := range all {
		folder := path.Dir(s.name)
		if !s.test || strings.HasPrefix(folder, "tools/") || uncached.MatchString(folder) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if chosen, is := n.(*ast.SelectorExpr); is {
				from, _ := chosen.X.(*ast.Ident)
				if from != nil && (from.Name == "exec" && strings.HasPrefix(chosen.Sel.Name, "Command") ||
					from.Name == "os" && chosen.Sel.Name == "StartProcess") {
					faults = append(faults,
						fmt.Sprintf("%s runs a program, and make test-pure may take its result from the cache: name %s in PROCESSES",
							s.at(n), folder))
				}
			}
			return true
		})
	}
	return faults
}
