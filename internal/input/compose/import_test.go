package compose

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"tend.dev/tend/internal/input/manifest"
)

var rewrite = flag.Bool("rewrite", false, "write what is found into testdata instead of comparing")

// outcome returns the manifests and the report of an import, or the error.
func outcome(t *testing.T, dir string, o Options) (text, report string) {
	t.Helper()
	result, text, report := imported(t, dir, o)
	if result == nil {
		return "", report
	}
	return text, clean(dir, result.Report(ReportOptions{From: dir, Manifest: "project.hcl"}))
}

// imported returns a result, the manifests, and the findings one a line; or the error.
func imported(t *testing.T, dir string, o Options) (result *Result, text, report string) {
	t.Helper()
	found, err := Import(context.Background(), o)
	if err != nil {
		return nil, "", clean(dir, err.Error()) + "\n"
	}
	written, err := manifest.Write(found.Sections)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, finding := range found.Findings {
		out.WriteString(finding.String() + "\n")
	}
	return &found, clean(dir, string(written)), clean(dir, out.String())
}

// clean replaces the test's folder in a text.
func clean(dir, text string) string {
	return strings.NewReplacer(dir+"/", "DIR/", dir, "DIR", "//"+filepath.Base(dir), "//PROJECT").Replace(text)
}

// unpack writes an archive's files into a folder called "project": a project's name is its folder's.
func unpack(t *testing.T, archive *txtar.Archive) (dir string, files []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "project")
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "want.") {
			continue
		}
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(f.Name); f.Name == name && strings.HasPrefix(name, "compose") {
			files = append(files, path)
		}
	}
	return dir, files
}

func archives(t testing.TB) []string {
	t.Helper()
	return globbed(t, "testdata/*.txtar", 8)
}

// corpus returns the small projects of testdata, each with one construct.
func corpus(t testing.TB) []string {
	t.Helper()
	return globbed(t, "testdata/corpus/*.txtar", 120)
}

func globbed(t testing.TB, pattern string, least int) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < least {
		t.Fatalf("only %d archives: %v", len(files), err)
	}
	return files
}

func nameOf(archive string) string { return strings.TrimSuffix(filepath.Base(archive), ".txtar") }

// TestImport: each archive is a project with the expected want.hcl and want.report. Add one without these two, run `go
// test ./internal/input/compose -rewrite`, and read the result: a user gets exactly that.
func TestImport(t *testing.T) {
	for _, name := range slices.Concat(archives(t), corpus(t)) {
		t.Run(nameOf(name), func(t *testing.T) { golden(t, name) })
	}
}

func golden(t *testing.T, name string) {
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dir, files := unpack(t, archive)
	text, report := outcome(t, dir,
		Options{Files: files, Dir: dir, From: dir, Environment: []string{"FROM_SHELL=shell", "TAG=1.2"}})
	kept := txtar.Archive{Comment: archive.Comment}
	var wanted, wantedReport string
	for _, f := range archive.Files {
		switch f.Name {
		case "want.hcl":
			wanted = string(f.Data)
		case "want.report":
			wantedReport = string(f.Data)
		default:
			kept.Files = append(kept.Files, f)
		}
	}
	if *rewrite {
		kept.Files = append(kept.Files, txtar.File{Name: "want.hcl", Data: []byte(text)},
			txtar.File{Name: "want.report", Data: []byte(report)})
		if err := os.WriteFile(name, txtar.Format(&kept), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(wanted, text); diff != "" {
		t.Errorf("manifests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantedReport, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, "      ") && strings.Count(line, " ") > 7 &&
			utf8.RuneCountInString(strings.TrimSpace(line))+6 > width && !strings.HasPrefix(line, "       ") {
			t.Errorf("wider than %d columns: %s", width, line)
		}
	}
	if text != "" {
		loads(t, dir, strings.ReplaceAll(text, "DIR", dir))
	}
}

// loads checks that Tend accepts the manifests.
func loads(t *testing.T, dir, text string) {
	t.Helper()
	file := filepath.Join(dir, "project.hcl")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	loaded, err := manifest.Load(manifest.Options{Files: []string{file},
		Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	for _, object := range loaded.Objects {
		for _, fault := range manifest.Validate(object) {
			if fault.Field != "image" { // the client sets the image of a built workload
				t.Errorf("%s: %s", object.Ref(), fault.Error())
			}
		}
	}
}
