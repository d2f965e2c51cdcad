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

var (
	mutantFlag  = flag.String("mutant", "", "try the mutants whose name holds this alone")
	rewriteFlag = flag.Bool("rewrite", false, "write into each mutant which world saw it")
)

// mutantWorlds is the number of worlds that a mutant may survive undetected, besides the kept ones.
const mutantWorlds = "400"

// TestMutants builds a test with one defect at a time, and demands that it fails. It passes without the defect.
func TestMutants(t *testing.T) {
	for _, m := range readMutants(t, *mutantFlag) {
		t.Run(m.name, func(t *testing.T) {
			if m.caught == nil {
				t.Parallel() // a world takes one processor, and shares nothing with others
			}
			found := m.hunt(t)
			t.Logf("caught: %s", found[0])
			if *rewriteFlag && m.caught == nil {
				m.keep(t, string(found[1]))
			}
		})
	}
}

// attempt is a test that may see a mutant, with its arguments.
type attempt struct {
	test
	arguments []string
}

// attempts returns the tests that must see the mutant between them. Of the simulation's worlds the one that saw it
// before comes first, then the kept ones, which are few.
func (m mutant) attempts() (out []attempt) {
	if m.caught != nil {
		return []attempt{{test: *m.caught}}
	}
	world := func(name string, arguments ...string) {
		out = append(out, attempt{
			test:      test{tags: []string{"simulate"}, folder: "./internal/test/simulation", name: name},
			arguments: append(arguments, "-terse"),
		})
	}
	if m.seed != 0 {
		world("TestSeed", "-seed", strconv.FormatUint(m.seed, 10))
	}
	world("TestKeptSeeds")
	world("TestFresh", "-from", "1", "-worlds", mutantWorlds)
	return out
}

// worldFailed matches the line in which a world of the simulation reports its failure.
var worldFailed = regexp.MustCompile(`(?m)(?:_test\.go:\d+: |^panic: the world of )seed (\d+):? .*$`)

// finding matches the line with which a test reports the defect.
func (m mutant) finding() *regexp.Regexp {
	if m.caught == nil {
		return worldFailed
	}
	return regexp.MustCompile(`(?m)^(?:--- FAIL: ` + strings.Split(m.caught.name, "/")[0] + `\b.*|panic: .*)$`)
}

// hunt builds the tests with the defect, and runs them until one sees it. It returns what that one said.
func (m mutant) hunt(t *testing.T) [][]byte {
	t.Helper()
	overlay, attempts := m.overlay(t), m.attempts()
	binary := compile(t, overlay, attempts[0].test)
	var always []string
	if help, _ := exec.Command(binary, "-help").CombinedOutput(); bytes.Contains(help, []byte("rapid.nofailfile")) {
		always = []string{"-rapid.nofailfile"} // a failure is wanted here, and no finding to keep
	}
	var output []byte
	for _, each := range attempts {
		pattern := "^" + strings.ReplaceAll(each.name, "/", "$/^") + "$"
		flags := append([]string{"-test.v", "-test.timeout=" + longest, "-test.run", pattern}, always...)
		command := exec.Command(binary, append(flags, each.arguments...)...)
		command.Dir = filepath.Join(module, each.folder)
		// Tests that build a program build it with the defect.
		command.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
		var err error
		if output, err = command.CombinedOutput(); err == nil {
			continue
		}
		if found := m.finding().FindSubmatch(output); found != nil {
			return found
		}
		t.Fatalf("%s ended without a failure of its own: %v\n%s", each.name, err, output)
	}
	t.Fatalf("nothing was seen:\n%s", output)
	return nil
}

// longest bounds one test: on a busy machine the worlds take half an hour.
const longest = "1h"

// keep writes the seed of the world that saw the mutant into its file.
func (m mutant) keep(t *testing.T, seed string) {
	t.Helper()
	path := m.name + ".txtar"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	comment, files, _ := strings.Cut(string(content), "\n-- ")
	comment, _, _ = strings.Cut(comment, "\n"+seenIn)
	if err := os.WriteFile(path, []byte(comment+"\n"+seenIn+seed+"\n-- "+files), 0o644); err != nil {
		t.Fatal(err)
	}
}

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
