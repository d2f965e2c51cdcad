//go:build mutants

package mutants

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var mutantFlag = flag.String("mutant", "", "try the mutants whose name holds this alone")

// mutantWorlds is the number of worlds that a mutant may survive undetected, besides the kept ones.
const mutantWorlds = "400"

// worlds is the simulation, which catches the mutants that name no test. The kept worlds are tried first: they are few.
var worlds = []test{
	{tags: []string{"simulate"}, folder: "./internal/test/simulation", name: "TestKeptSeeds"},
	{tags: []string{"simulate"}, folder: "./internal/test/simulation", name: "TestFresh"},
}

// TestMutants builds a test with one defect at a time, and demands that it fails. It passes without the defect.
func TestMutants(t *testing.T) {
	for _, m := range readMutants(t, *mutantFlag) {
		t.Run(m.name, func(t *testing.T) {
			tests, arguments, finding := worlds, []string{"-from", "1", "-worlds", mutantWorlds, "-terse"}, world
			if m.caught != nil {
				tests, arguments = []test{*m.caught}, nil
				finding = regexp.MustCompile(`(?m)^(?:--- FAIL: ` + strings.Split(m.caught.name, "/")[0] + `\b.*|panic: .*)$`)
			}
			overlay := m.overlay(t)
			binary := compile(t, overlay, tests[0])
			if help, _ := exec.Command(binary, "-help").CombinedOutput(); bytes.Contains(help, []byte("rapid.nofailfile")) {
				arguments = append(arguments, "-rapid.nofailfile") // a failure is wanted here, and no finding to keep
			}
			var output []byte
			for _, each := range tests {
				pattern := "^" + strings.ReplaceAll(each.name, "/", "$/^") + "$"
				flags := append([]string{"-test.v", "-test.timeout=10m", "-test.run", pattern}, arguments...)
				command := exec.Command(binary, flags...)
				command.Dir = filepath.Join(module, each.folder)
				// Tests that build a program build it with the defect.
				command.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
				var err error
				if output, err = command.CombinedOutput(); err == nil {
					continue
				}
				if found := finding.Find(output); found != nil {
					t.Logf("caught: %s", found)
					return
				}
				t.Fatalf("%s ended without a failure of its own: %v\n%s", each.name, err, output)
			}
			t.Fatalf("nothing was seen:\n%s", output)
		})
	}
}

// world matches the line in which a world of the simulation reports its failure.
var world = regexp.MustCompile(`(?m)(?:_test\.go:\d+: |^panic: the world of )seed \d+:? .*$`)

// overlay writes the sources with the defect, and returns the file that has go build read them; the working tree isn't
// touched.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	overlay, replaced := filepath.Join(dir, "overlay.json"), map[string]string{}
	for file, source := range m.sources(t) {
		target, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		replaced[target] = filepath.Join(dir, strconv.Itoa(len(replaced))+filepath.Ext(file))
		if err := os.WriteFile(replaced[target], []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content, err := json.Marshal(map[string]any{"Replace": replaced})
	if err == nil {
		err = os.WriteFile(overlay, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return overlay
}

// compile makes the test binary of a package with the defect. What doesn't compile shows nothing.
func compile(t *testing.T, overlay string, of test) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "mutant.test")
	command := exec.Command("go", "test", "-c", "-tags", strings.Join(of.tags, ","), "-overlay", overlay,
		"-vet=off", "-ldflags=-s -w", "-o", binary, of.folder)
	command.Dir = module
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	return binary
}
