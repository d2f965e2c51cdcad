package spechash

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

var generate = flag.Bool("generate", false,
	"write the fixture of a new version; one that exists is never written again")

const frozenFile = "testdata/v1.txt"

// frozen is one line of the fixture.
type frozen struct {
	Hash   string            `json:"hash"`
	Assets map[string]string `json:"assets,omitempty"`
	Spec   json.RawMessage   `json:"spec"`
}

// TestFrozen: upgrading Tend rolls nothing. The hashes of these specs never change.
func TestFrozen(t *testing.T) {
	if *generate {
		writeFrozen(t)
	}
	text, err := os.ReadFile(frozenFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 200 {
		t.Fatalf("%s has %d pairs, not 200", frozenFile, len(lines))
	}
	seen := map[string]int{}
	for i, line := range lines {
		var pair frozen
		if err := json.Unmarshal([]byte(line), &pair); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		spec, err := api.DecodeStrict[api.DeploymentSpec](pair.Spec)
		if err != nil {
			t.Errorf("line %d: a spec that was stored can't be read any more: %v", i+1, err)
			continue
		}
		got, err := WorkloadVersion(1, api.WorkloadSpec{DeploymentSpec: spec}, pair.Assets)
		if err != nil || got != pair.Hash {
			t.Errorf("line %d: hash of %s moved from %s to %s (%v): every deployment like it would be replaced by an upgrade",
				i+1, pair.Spec, pair.Hash, got, err)
		}
		if other, twice := seen[pair.Hash]; twice {
			t.Errorf("lines %d and %d hash to the same", other, i+1)
		}
		seen[pair.Hash] = i + 1
	}
}

func writeFrozen(t *testing.T) {
	if _, err := os.Stat(frozenFile); err == nil {
		t.Fatalf("%s is frozen", frozenFile)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var out strings.Builder
	for n := range 200 {
		spec, assets := randomSpec(random, n)
		raw, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(frozen{Hash: hash(spec, assets), Assets: assets, Spec: raw})
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	if err := os.WriteFile(frozenFile, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// randomSpec sets each field about every third time.
func randomSpec(r *rand.Rand, n int) (api.DeploymentSpec, map[string]string) {
	spec := api.DeploymentSpec{Container: api.Container{Image: fmt.Sprintf("registry.example/app-%d:%d", n, r.IntN(9))}}
	setters := setters()
	for _, name := range setterNames() {
		if r.IntN(3) == 0 {
			setters[name](&spec, r.IntN(1000))
		}
	}
	if r.IntN(4) == 0 {
		return spec, map[string]string{fmt.Sprintf("prod.site.key%d", r.IntN(9)): fmt.Sprintf("sha256:%064x", r.Uint64())}
	}
	return spec, nil
}
