package compose

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"tend.dev/tend/internal/manifest"
)

var rewrite = flag.Bool("rewrite", false, "write what is found into testdata instead of comparing")

// outcome returns what an import comes to: the manifests and the report, or the error.
func outcome(t *testing.T, dir string, o Options) (text, report string) {
	t.Helper()
	result, err := Import(context.Background(), o)
	clean := strings.NewReplacer(dir+"/", "DIR/", dir, "DIR", "//"+filepath.Base(dir), "//PROJECT")
	if err != nil {
		return "", clean.Replace(err.Error()) + "\n"
	}
	written, err := manifest.Write(result.Sections)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, finding := range result.Findings {
		out.WriteString(finding.String() + "\n")
	}
	return clean.Replace(string(written)), clean.Replace(out.String())
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
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatalf("only %d archives: %v", len(files), err)
	}
	return files
}

// TestImport: each archive is a project, and want.hcl and want.report what it comes to. Add one without these two, run
// `go test ./internal/compose -rewrite`, and read what it wrote.
func TestImport(t *testing.T) {
	for _, name := range archives(t) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir, files := unpack(t, archive)
			text, report := outcome(t, dir, Options{Files: files, Environment: []string{"FROM_SHELL=shell", "TAG=1.2"}})
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
				kept.Files = append(kept.Files, txtar.File{Name: "want.hcl", Data: []byte(text)}, txtar.File{Name: "want.report", Data: []byte(report)})
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
			if text != "" {
				loads(t, strings.ReplaceAll(text, "DIR", dir))
			}
		})
	}
}

// loads checks that manifests are what Tend takes.
func loads(t *testing.T, text string) {
	t.Helper()
	_, err := manifest.Load(manifest.Options{
		Files: []string{"-"}, Stdin: strings.NewReader(text), Format: "hcl", Lookup: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		t.Errorf("%s\n%v", text, err)
	}
}
