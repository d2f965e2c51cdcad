package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSourceFolder: a context is relative to the manifest, for manifests in a project's .tend or .voodu to the project,
// and to the working directory if neither has it.
func TestSourceFolder(t *testing.T) {
	project := t.TempDir()
	for _, dir := range []string{"app", ".voodu/prod", ".tend/own", "deploy/near"} {
		if err := os.MkdirAll(filepath.Join(project, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(project)
	for name, tc := range map[string]struct{ reason, file, context, want, warns string }{
		"project": {"a manifest in .voodu is relative to the project", ".voodu/web.hcl",
			`context = "app"`, "app", ""},
		"project itself": {"the default is the project, not the folder of manifests", ".voodu/web.hcl", "", ".", ""},
		"deeper":         {"however deep the manifest lies", ".voodu/prod/web.hcl", `context = "app"`, "app", ""},
		"ours":           {"our own folder is read alike", ".tend/web.hcl", `context = "./app"`, "app", ""},
		"upwards": {"a path that leads up was written from the manifest's folder", ".tend/web.hcl",
			`context = "../app"`, "app", ""},
		"within": {"what is in the folder of manifests alone is found there", ".tend/web.hcl",
			`context = "own"`, ".tend/own", ""},
		"beside": {"any other manifest is relative to its own folder", "deploy/web.hcl",
			`context = "near"`, "deploy/near", ""},
		"working folder": {"the predecessor read from the working directory", "deploy/web.hcl", `context = "app"`,
			"app", "there is no"},
		"nowhere": {"a folder that is nowhere is missed where it should be", "deploy/web.hcl",
			`context = "none"`, "deploy/none", ""},
		"from the outset": {"a file beside the source needs nothing", "alone.hcl", `context = "app"`, "app", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := "deployment \"prod\" \"web\" {\n  build {\n    " + tc.context + "\n  }\n}\n"
			if err := os.WriteFile(tc.file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{tc.file, filepath.Join(project, tc.file)} {
				loaded, err := Load(Options{Files: []string{file}, Lookup: none})
				if err != nil || len(loaded.Builds) != 1 {
					t.Fatalf("%v, %d builds", err, len(loaded.Builds))
				}
				got, err := filepath.Abs(loaded.Builds[0].Folder)
				if err != nil || got != filepath.Join(project, tc.want) {
					t.Errorf("%s: %s: built from %s, want %s", tc.reason, file, got, tc.want)
				}
				if warned := strings.Join(loaded.Warnings, "\n"); (tc.warns == "") != (warned == "") ||
					!strings.Contains(warned, tc.warns) {
					t.Errorf("%s: it warns %q, want %q", tc.reason, warned, tc.warns)
				}
			}
		})
	}
}

// TestAnEmptyBodyIsBuilt: with neither image nor build a workload is built from its folder, and a warning says so.
func TestAnEmptyBodyIsBuilt(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "deployment \"prod\" \"web\" {\n}\napp \"prod\" \"shop\" {\n  host = \"shop.org\"\n}\njob \"prod\" \"once\" {\n  image = \"a:1\"\n}\n"
	if err := os.WriteFile("all.hcl", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(Options{Files: []string{"all.hcl"}, Lookup: none})
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Builds) != 2 || loaded.Builds[0].Folder != "." {
		t.Errorf("built are %+v", loaded.Builds)
	}
	if len(loaded.Warnings) != 2 || !strings.Contains(loaded.Warnings[0], "deployment/prod/web: neither image nor build") {
		t.Errorf("it warns %q", loaded.Warnings)
	}
	if _, err := Decode([]byte(`{"kind":"deployment","scope":"prod","name":"web","spec":{}}`), ""); err != nil {
		t.Fatal(err)
	}
	objects, _ := Decode([]byte(`{"kind":"deployment","scope":"prod","name":"web","spec":{}}`), "")
	if found := Validate(objects[0]); len(found) == 0 {
		t.Error("JSON without an image is taken")
	}
}
