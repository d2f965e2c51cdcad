package simulation

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// mutant is a plausible defect: texts of source files and what they become.
type mutant struct {
	name  string
	parts []part
}

type part struct{ file, old, new string }

// module is where the files of the module lie, seen from this package.
const module = "../.."

// readMutants reads those of the folder whose name holds some text.
func readMutants(t *testing.T, some string) (out []mutant) {
	t.Helper()
	paths, err := filepath.Glob("mutants/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d mutants, %v", len(paths), err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(archive.Files) < 2 || len(archive.Files)%2 != 0 || len(archive.Comment) == 0 {
			t.Fatalf("%s: want a sentence, and pairs of a source file's text and what it becomes", path)
		}
		m := mutant{name: strings.TrimSuffix(filepath.Base(path), ".txtar")}
		for pair := range slices.Chunk(archive.Files, 2) {
			m.parts = append(m.parts, part{file: filepath.Join(module, pair[0].Name), old: string(pair[0].Data), new: string(pair[1].Data)})
		}
		if strings.Contains(m.name, some) {
			out = append(out, m)
		}
	}
	return out
}

// sources returns the source files with the defect, by path.
func (m mutant) sources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range m.parts {
		source, changed := out[p.file]
		if !changed {
			content, err := os.ReadFile(p.file)
			if err != nil {
				t.Fatal(err)
			}
			source = string(content)
		}
		if n := strings.Count(source, p.old); n != 1 {
			t.Fatalf("the text occurs %d times in %s:\n%s", n, p.file, p.old)
		}
		out[p.file] = strings.Replace(source, p.old, p.new, 1)
	}
	return out
}

// TestMutantsFit: each mutant still has a place in the sources. `make mutants` shows that the simulation finds it.
func TestMutantsFit(t *testing.T) {
	for _, m := range readMutants(t, "") {
		t.Run(m.name, func(t *testing.T) { m.sources(t) })
	}
}
