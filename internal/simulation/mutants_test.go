package simulation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// mutant is a defect that somebody might make: a text of a source file and what it becomes.
type mutant struct {
	name, file, old, new string
}

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
		if !strings.Contains(path, some) {
			continue
		}
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(archive.Files) != 2 || archive.Files[1].Name != "becomes" || len(archive.Comment) == 0 {
			t.Fatalf("%s: want a sentence, a source file's text, and what it becomes", path)
		}
		out = append(out, mutant{
			name: strings.TrimSuffix(filepath.Base(path), ".txtar"), file: filepath.Join(module, archive.Files[0].Name),
			old: string(archive.Files[0].Data), new: string(archive.Files[1].Data),
		})
	}
	return out
}

// apply returns the source file with the defect.
func (m mutant) apply(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(m.file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		t.Fatalf("%s: its text occurs %d times in %s", m.name, n, m.file)
	}
	return strings.Replace(string(source), m.old, m.new, 1)
}

// TestMutantsFit: each mutant still has a place in the sources. `make mutants` shows that the simulation finds it.
func TestMutantsFit(t *testing.T) {
	for _, m := range readMutants(t, "") {
		m.apply(t)
	}
}
