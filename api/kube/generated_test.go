//go:build kube

package kube_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGeneratedFilesAreCurrent runs the generators of doc.go, and of internal/operator/doc.go, and compares their
// output with the committed files.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	crds := t.TempDir()
	generate(t, "crd", "paths=./...", "output:crd:dir="+crds)
	same(t, "../../deploy/operator/crd/*.yaml", crds)
	roles := t.TempDir()
	generate(t, "rbac:roleName=tend-operator", "paths=../../internal/operator/...", "output:rbac:dir="+roles)
	same(t, "../../deploy/operator/rbac/*.yaml", roles)
	for _, group := range []string{"apps", "ops"} {
		copies := t.TempDir()
		generate(t, "object", "paths=./"+group+"/...", "output:object:dir="+copies)
		same(t, group+"/v1alpha1/zz_generated.deepcopy.go", copies)
	}
}

func generate(t *testing.T, args ...string) {
	t.Helper()
	command := exec.Command("go", append([]string{"tool", "-modfile=../../tools/kubegen/go.mod", "controller-gen"}, args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// same compares the committed files that match a pattern with the files in a folder.
func same(t *testing.T, pattern, generated string) {
	t.Helper()
	committed, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadDir(generated)
	if err != nil {
		t.Fatal(err)
	}
	if len(made) == 0 || len(made) != len(committed) {
		t.Errorf("%s: %d files, and generated are %d: run `make generate`", pattern, len(committed), len(made))
	}
	for _, file := range committed {
		want, err := os.ReadFile(filepath.Join(generated, filepath.Base(file)))
		if err != nil {
			t.Errorf("%s is not generated any more: %v", file, err)
			continue
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run `make generate` (%v)", file, err)
		}
	}
}
