package arch

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
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

// TestWhatTheRaceLeavesOut: `make race QUICK=1` leaves out no test by a name that it doesn't have any more.
func TestWhatTheRaceLeavesOut(t *testing.T) {
	_, rest, found := strings.Cut(readPage(t, "Makefile"), "\nRACE_LATER := ")
	names, _, ends := strings.Cut(rest, "\nspace :=")
	if !found || !ends {
		t.Fatal("the Makefile names no tests as RACE_LATER")
	}
	report(t, lostTests(sources(t), strings.Fields(strings.ReplaceAll(names, "\\", ""))))
}

// lostTests returns a fault for each name that no test has.
func lostTests(all []*source, names []string) (faults []string) {
	lost := map[string]bool{}
	for _, name := range names {
		lost[name] = true
	}
	for _, s := range all {
		for _, d := range s.ast.Decls {
			if f, is := d.(*ast.FuncDecl); is && s.test {
				delete(lost, f.Name.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lost)) {
		faults = append(faults, "the Makefile names "+name+", and there is no such test")
	}
	return faults
}
