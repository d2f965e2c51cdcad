package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestConformanceNamesTests(t *testing.T) {
	page := readPage(t, "docs/conformance.md")
	report(t, conformanceFaults(slices.Concat(sources(t), toolTests(t)), page, func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return err == nil
	}))
	for n := range 33 {
		if !strings.Contains(page, fmt.Sprintf("\n| %d | ", n+1)) {
			t.Errorf("defect %d has no row", n+1)
		}
	}
}

// toolTests parses the tests of the modules below tools.
func toolTests(t *testing.T) (out []*source) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "tools/*/*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parse("tools/"+filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// proof is a test, as file:name, or a file of a test's data.
var proof = regexp.MustCompile("`((?:api|client|cmd|internal|tools)/[^`:]+)(?::((?:Test|Fuzz)\\w+))?`")

// testAlone is the name of a test without its file, which nothing can look for.
var testAlone = regexp.MustCompile("`(?:Test|Fuzz)\\w+`")

// conformanceFaults finds rows that prove nothing and tests that aren't there.
func conformanceFaults(all []*source, page string, exists func(name string) bool) []string {
	tests := map[string]bool{}
	for _, s := range all {
		for _, declaration := range s.ast.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && s.test {
				tests[s.name+":"+function.Name.Name] = true
			}
		}
	}
	var faults []string
	for _, line := range strings.Split(page, "\n") {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || strings.HasSuffix(line, " proof |") {
			continue
		}
		last := cells[len(cells)-1]
		found := proof.FindAllStringSubmatch(last, -1)
		if len(found) == 0 && !strings.Contains(last, "**later**: ") {
			faults = append(faults, "no test, and not later: "+line)
		}
		for _, alone := range testAlone.FindAllString(last, -1) {
			faults = append(faults, fmt.Sprintf("%s: say which file it is in: %s", alone, line))
		}
		for _, ref := range found {
			if there := ref[2] != "" && tests[ref[1]+":"+ref[2]] || ref[2] == "" && exists(ref[1]); !there {
				faults = append(faults, fmt.Sprintf("%s is not there: %s", strings.Trim(ref[0], "`"), line))
			}
			if extension := filepath.Ext(ref[1]); ref[2] == "" && (extension == ".go" || extension == "") {
				faults = append(faults, fmt.Sprintf("%s: say which test it is: %s", ref[1], line))
			}
		}
	}
	return faults
}

func TestEveryReasonIsDocumented(t *testing.T) {
	report(t, reasonFaults(sources(t), readPage(t, "docs/use/kinds/deployment.md")))
}

// reasonFolders are the packages whose reasons reach a deployment's conditions or its pods.
var reasonFolders = []string{
	"internal/kinds/workload", "internal/control/environment", "internal/core/gate", "internal/core/healing",
	"internal/core/rollout", "internal/core/placement", "internal/node/agent", "internal/node/agent/builder", "internal/control",
	"internal/node/runtime", "internal/node/runtime/docker", "internal/node/runtime/process", "internal/node/runtime/process/shim",
}

// notReasons are words of the same form that are no reasons: the engine's words in a pull, operations of a disk, units.
var notReasons = []string{"Downloading", "Extracting", "Waiting", "Read", "Write", "Limited", "Ti", "Gi", "Mi", "Ki"}

var (
	reasonWord       = regexp.MustCompile(`^[A-Z][A-Za-z]*[a-z][A-Za-z]*$`)
	documentedReason = regexp.MustCompile("`([A-Z][A-Za-z]*[a-z][A-Za-z]*)`")
)

// reasonFaults compares the CamelCase words of the sources with those in the first column of the page's conditions.
func reasonFaults(all []*source, page string) []string {
	_, page, _ = strings.Cut(page, "\n## Conditions\n")
	mentioned, listed := map[string]bool{}, map[string]bool{}
	for _, line := range strings.Split(page, "\n") {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, match := range documentedReason.FindAllStringSubmatch(line, -1) {
			mentioned[match[1]] = true
			if strings.HasPrefix(line, "| ") && strings.Contains(first, match[0]) {
				listed[match[1]] = true
			}
		}
	}
	var faults []string
	exist := map[string]bool{"Ready": true, "Progressing": true, "Degraded": true} // the types of conditions
	for _, s := range all {
		if s.test || !slices.Contains(reasonFolders, s.folder()) {
			continue
		}
		for word, at := range reasonsIn(s) {
			exist[word] = true
			if !mentioned[word] {
				faults = append(faults, fmt.Sprintf("%s: docs/use/kinds/deployment.md does not explain %s", s.at(at), word))
			}
		}
	}
	for word := range listed {
		if !exist[word] {
			faults = append(faults, fmt.Sprintf("docs/use/kinds/deployment.md explains %s, which does not exist", word))
		}
	}
	return faults
}

// reasonsIn returns the reasons that a file names, as a constant of the api or as a word.
func reasonsIn(s *source) map[string]ast.Node {
	found := map[string]ast.Node{}
	ast.Inspect(s.ast, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			of, _ := n.X.(*ast.Ident)
			if word, ok := strings.CutPrefix(n.Sel.Name, "Reason"); ok && of != nil && of.Name == "api" {
				found[word] = n
			}
		case *ast.BasicLit:
			if word, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && reasonWord.MatchString(word) &&
				!slices.Contains(notReasons, word) {
				found[word] = n
			}
		}
		return true
	})
	return found
}

// TestPageChecksBite gives each check a page that breaks its rule.
func TestPageChecksBite(t *testing.T) {
	tree := func(name, text string) []*source {
		s, err := parse(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return []*source{s}
	}
	tests := tree("internal/x/a_test.go", "package x\nfunc TestThere() {}")
	none, all := func(string) bool { return false }, func(string) bool { return true }
	code := tree("internal/node/agent/a.go", `package agent; const a = "PortTaken"`)
	for name, test := range map[string]struct {
		faults []string
		want   int
	}{
		"a test that is there": {conformanceFaults(tests, "| s | `internal/x/a_test.go:TestThere` |", none), 0},
		"a test that isn't":    {conformanceFaults(tests, "| s | `internal/x/a_test.go:TestGone` |", none), 1},
		"a file that isn't":    {conformanceFaults(tests, "| s | `internal/x/gone.txt` |", none), 1},
		"a fuzz test":          {conformanceFaults(tests, "| s | `internal/x/a_test.go:FuzzGone` |", none), 1},
		"a test without a file": {conformanceFaults(tests, "| s | `internal/x/a_test.go:TestThere`, `TestThere` |", none),
			1},
		"a file of tests alone":  {conformanceFaults(tests, "| s | `internal/x/a_test.go` |", all), 1},
		"a folder alone":         {conformanceFaults(tests, "| s | `internal/x` |", all), 1},
		"a transcript":           {conformanceFaults(tests, "| s | `internal/x/testdata/a.txt` |", all), 0},
		"a promise without test": {conformanceFaults(tests, "| s | surely |", none), 1},
		"later":                  {conformanceFaults(tests, "| s | **later**: jobs |", none), 0},
		"a heading":              {conformanceFaults(tests, "| statement | proof |\n| --- | --- |", none), 0},
		"an explained reason":    {reasonFaults(code, "\n## Conditions\n| `PortTaken` | cause |"), 0},
		"a reason unexplained":   {reasonFaults(code, "\n## Conditions\n"), 1},
		"explained elsewhere":    {reasonFaults(code, "| `PortTaken` |\n## Conditions\n"), 1},
		"a reason that is gone":  {reasonFaults(code, "\n## Conditions\n| `PortTaken`, `PortGone` | cause |"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if len(test.faults) != test.want {
				t.Errorf("%d faults, want %d: %v", len(test.faults), test.want, test.faults)
			}
		})
	}
}

// TestUnitKeepsTheServer: the settings of the systemd units by which server and agent are restarted and containers
// outlive them.
func TestUnitKeepsTheServer(t *testing.T) {
	for name, command := range map[string]string{"tend.service": "server", "tend-agent.service": "agent"} {
		unit := "\n" + readPage(t, "deploy/systemd/"+name)
		for line, why := range map[string]string{
			"ExecStart=/usr/local/bin/tend " + command:       "it starts what `make install` installs",
			"Restart=on-failure":                             "a crash is not the end",
			"StartLimitIntervalSec=0":                        "however often it fails, it is started again",
			"Type=notify":                                    "systemd waits for readiness",
			"TimeoutStartSec=infinity":                       "a replay that takes long is not killed",
			"Environment=TEND_ROOT=/var/lib/tend":            "the root is named",
			"EnvironmentFile=-/etc/tend/" + command + ".env": "flags are set without editing the unit",
			"KillMode=process":                               "containers and processes outlive the server",
			"WantedBy=multi-user.target":                     "it is there after a reboot",
		} {
			if !strings.Contains(unit, "\n"+line+"\n") {
				t.Errorf("deploy/systemd/%s lacks %s: %s", name, line, why)
			}
		}
	}
}
