//go:build linux

package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/runtime/process"
)

// goSource puts a program's source into a folder that the user who builds it may enter.
func goSource(t *testing.T, program string) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "tend-build") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	source := filepath.Join(folder, "source")
	for _, dir := range []string{folder, source} {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"go.mod": "module x\ngo 1.26\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(source, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return source
}

func buildSpec(folder, id string) runtime.BuildSpec {
	return runtime.BuildSpec{
		Folder: folder, Language: "go", Source: ".", Tags: []string{"prod-web:" + id, "prod-web:latest"},
		Labels: map[string]string{api.LabelBuildOwner: "prod-web", api.LabelBuildID: id},
	}
}

// TestGoIsBuilt: the program is an image with a name, until the name is removed.
func TestGoIsBuilt(t *testing.T) {
	root := t.TempDir()
	if err := os.Chmod(filepath.Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	rt, err := process.New(process.Options{Root: root, Cluster: "c", Node: "n", User: "root"})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	var lines []string
	output := func(line string) { lines = append(lines, line) }
	made, err := rt.Build(t.Context(), buildSpec(goSource(t, "package main\nfunc main() { println(\"hello\") }\n"), "a1"), output)
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(lines, "\n"))
	}
	if lines[0] != "Step 1/1 : go build ./" {
		t.Errorf("%q", lines)
	}
	for _, name := range []string{"prod-web:a1", "prod-web:latest", made.ID} {
		if found, err := rt.Resolve(t.Context(), name); err != nil || found.ID != made.ID {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	lines = nil
	_, err = rt.Build(t.Context(), buildSpec(goSource(t, "package main\nfunc main() { nothing() }\n"), "b2"), output)
	var rejected *runtime.RejectedError
	if !errors.As(err, &rejected) || rejected.Reason != api.ReasonBuildFailed || !strings.Contains(strings.Join(lines, "\n"), "undefined: nothing") {
		t.Errorf("%v, %q", err, lines)
	}
	built, err := rt.Built(t.Context())
	if err != nil || len(built) != 2 || built[0].Build != "a1" || !slices.Equal(built[1].Tags, []string{"prod-web:latest"}) {
		t.Errorf("%+v, %v", built, err)
	}
	if err := errors.Join(rt.Untag(t.Context(), "prod-web:a1"), rt.Untag(t.Context(), "prod-web:a1")); err != nil {
		t.Error(err)
	}
	if _, err := rt.Resolve(t.Context(), "prod-web:a1"); !errors.Is(err, runtime.ErrNotFound) {
		t.Errorf("its name is gone: %v", err)
	}
}

func TestOtherLanguagesNeedDocker(t *testing.T) {
	rt, err := process.New(process.Options{Root: t.TempDir(), Cluster: "c", Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	spec := buildSpec(t.TempDir(), "a1")
	spec.Language = "docker"
	_, err = rt.Build(t.Context(), spec, func(string) {})
	var rejected *runtime.RejectedError
	if !errors.As(err, &rejected) || !strings.Contains(err.Error(), "Docker") {
		t.Error(err)
	}
}
