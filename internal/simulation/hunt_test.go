//go:build simulate

package simulation

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

var mutantFlag = flag.String("mutant", "", "try the mutants whose name holds this alone")

// mutantWorlds is how many worlds a mutant may live through unseen, beside the kept ones.
const mutantWorlds = "400"

// TestMutants builds the simulation with one defect at a time, and demands that a world fails. The same worlds pass
// without the defect.
func TestMutants(t *testing.T) {
	for _, m := range readMutants(t, *mutantFlag) {
		t.Run(m.name, func(t *testing.T) {
			binary := m.build(t)
			var output []byte
			var err error
			var found [][]byte
			for _, worlds := range []string{"TestKeptSeeds$", "TestFresh$"} { // the kept ones first: they are few
				output, err = exec.Command(binary, "-test.run", worlds, "-from", "1", "-worlds", mutantWorlds, "-terse", "-test.v").CombinedOutput()
				if found = finding.FindSubmatch(output); err != nil {
					break
				}
			}
			if err == nil || found == nil {
				t.Fatalf("nothing was seen in %s worlds: %v\n%s", mutantWorlds, err, output)
			}
			t.Logf("world %s: %s", found[1], found[2])
		})
	}
}

var finding = regexp.MustCompile(`(?m)(?:_test\.go:\d+: |^panic: the world of )seed (\d+):? (.*)$`)

// build makes a test binary with the defect; the working tree isn't touched.
func (m mutant) build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	overlay, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutant.test")
	replaced := map[string]string{}
	for file, source := range m.sources(t) {
		target, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		replaced[target] = filepath.Join(dir, strconv.Itoa(len(replaced))+".go")
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
	if output, err := exec.Command("go", "test", "-c", "-tags", "simulate", "-overlay", overlay, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("build: %w\n%s", err, output))
	}
	return binary
}
