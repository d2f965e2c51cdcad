package manifest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var rewrite = flag.Bool("rewrite", false, "write what is found into testdata instead of comparing")

func none(string) (string, bool) { return "", false }

// TestLanguage: each archive in testdata/language is a folder of manifests, with the outcome in `want`. A file named
// `vars` holds the environment, `args` the sources (default: everything).
func TestLanguage(t *testing.T) {
	files, err := filepath.Glob("testdata/language/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := languageOutcome(t, archive)
			want := archive.Files[len(archive.Files)-1]
			if want.Name != "want" {
				t.Fatalf("the last file is %s, not want", want.Name)
			}
			if *rewrite {
				archive.Files[len(archive.Files)-1].Data = []byte(got)
				write(t, file, string(txtar.Format(archive)))
				return
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", archive.Comment, diff)
			}
		})
	}
}

// languageOutcome loads the files of an archive from a folder of their own.
func languageOutcome(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	folder := t.TempDir()
	vars, args := map[string]string{}, []string{folder}
	for _, f := range archive.Files {
		switch f.Name {
		case "want":
		case "vars":
			parsed, err := parseEnv(string(f.Data))
			if err != nil {
				t.Fatal(err)
			}
			vars = unescaped(parsed)
		case "args":
			args = nil
			for _, name := range strings.Fields(string(f.Data)) {
				args = append(args, filepath.Join(folder, name))
			}
		default:
			path := filepath.Join(folder, f.Name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, path, string(f.Data))
		}
	}
	result, err := Load(Options{Files: args,
		Lookup: func(name string) (string, bool) { value, ok := vars[name]; return value, ok }})
	if err != nil {
		return strings.ReplaceAll(strings.ReplaceAll(err.Error(), folder+"/", ""), folder, "FOLDER") + "\n"
	}
	var out strings.Builder
	for _, o := range result.Objects {
		origin := strings.ReplaceAll(result.Origin[o.Ref()].String(), folder+"/", "")
		meta, err := canonical(o.Metadata)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(o.Ref().String() + " at " + origin + "\n  " + string(o.Spec) + "\n")
		if string(meta) != "{}" {
			out.WriteString("  metadata " + string(meta) + "\n")
		}
	}
	return out.String()
}

// unescaped replaces each escaped newline in a test's variables.
func unescaped(vars map[string]string) map[string]string {
	for name, value := range vars {
		vars[name] = strings.ReplaceAll(value, `\n`, "\n")
	}
	return vars
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
