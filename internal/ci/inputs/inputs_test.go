package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestAPassedCheckRunsAgainAfterAChange walks through what can happen to the inputs of a check in a repository.
func TestAPassedCheckRunsAgainAfterAChange(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.org/m\n\ngo 1.26\n")
	write("a/a.go", "package a\n\nimport _ \"example.org/m/b\"\n")
	write("a/testdata/deep/golden.txt", "1\n")
	write("a/c/c.go", "package c\n")
	write("b/b.go", "package b\n")
	write("b/b_test.go", "package b\n")
	write("deploy/rules.yml", "x\n")
	write(".gitignore", "*.out\n")
	if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := check{packages: []string{"./a"}, paths: []string{"deploy"}}
	of := func() string {
		t.Helper()
		sum, err := digest(t.Context(), root, c)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	files, err := c.files(t.Context(), root)
	if want := []string{"a/a.go", "a/testdata/deep/golden.txt", "b/b.go", "b/b_test.go", "deploy/rules.yml",
		"go.mod"}; err != nil || !slices.Equal(files, want) {
		t.Errorf("files: %q, %v; want %q", files, err, want)
	}
	for _, change := range []struct {
		path, text string
		matters    bool
	}{
		{"a/a.go", "package a\n\nimport _ \"example.org/m/b\"\n// changed\n", true},
		{"b/b.go", "package b // imported\n", true},
		{"a/testdata/deep/golden.txt", "2\n", true},
		{"b/new.go", "package b\n", true},
		{"deploy/rules.yml", "y\n", true},
		{"go.mod", "module example.org/m\n\ngo 1.26\n\n// a change\n", true},
		{"a/c/c.go", "package c // nobody imports it\n", false},
		{"deploy/left.out", "ignored\n", false},
	} {
		before := of()
		write(change.path, change.text)
		if changed := of() != before; changed != change.matters {
			t.Errorf("a change of %s: the digest changed: %t, want %t", change.path, changed, change.matters)
		}
	}
	before := of()
	if err := os.Remove(filepath.Join(root, "b/new.go")); err != nil {
		t.Fatal(err)
	}
	if of() == before {
		t.Error("a deleted file didn't change the digest")
	}
}

// TestRecord: a check must run until it is recorded, and nothing else is recorded with it.
func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "verified")
	if r, err := readRecord(path); err != nil || len(r) != 0 {
		t.Errorf("without a file: %v, %v", r, err)
	}
	if err := (record{"test-kube": "12", "test-helm": "ab"}).write(path); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	if string(text) != "test-helm ab\ntest-kube 12\n" {
		t.Errorf("the record is %q", text)
	}
	if r, err := readRecord(path); err != nil || r["test-kube"] != "12" || r["test-helm"] != "ab" {
		t.Errorf("read again: %v, %v", r, err)
	}
	if err := run(t.Context(), t.TempDir(), []string{"state", "test-nothing"}, io.Discard); err == nil {
		t.Error("the state of an unknown target has no error")
	}
}
