package mutants

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// mutant is a plausible defect: texts of source files with their replacements.
type mutant struct {
	name  string
	parts []part
	// caught is the test that must fail; nil if worlds of the simulation must.
	caught *test
	// seed is that of the world which failed the last time; 0 if none is known.
	seed uint64
}

type part struct{ file, old, new string }

// test is a test of the module.
type test struct {
	tags []string
	// folder is the package, relative to the module; name may have subtests behind slashes.
	folder, name string
}

const (
	// module is where the files of the module lie, seen from this package.
	module = "../../.."
	// caughtBy begins the line that names the test, and seenIn the line that names the world.
	caughtBy, seenIn = "caught by: ", "seen in world: "
)

// readMutants reads the mutants of the folder whose name contains some.
func readMutants(t *testing.T, some string) (out []mutant) {
	t.Helper()
	paths, err := filepath.Glob("*.txtar")
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
		m := mutant{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), caught: caught(t, path, string(archive.Comment))}
		if _, seed, found := strings.Cut(string(archive.Comment), "\n"+seenIn); found {
			if m.seed, err = strconv.ParseUint(strings.TrimSpace(seed), 10, 64); err != nil || m.caught != nil {
				t.Fatalf("%s: %q goes before a seed, and with no other test: %v", path, seenIn, err)
			}
		}
		for pair := range slices.Chunk(archive.Files, 2) {
			source := filepath.Join(module, pair[0].Name)
			m.parts = append(m.parts, part{file: source, old: string(pair[0].Data), new: string(pair[1].Data)})
		}
		if strings.Contains(m.name, some) {
			out = append(out, m)
		}
	}
	return out
}

// caught reads the line that names the test which must fail.
func caught(t *testing.T, path, comment string) *test {
	t.Helper()
	_, line, found := strings.Cut(comment, "\n"+caughtBy)
	if !found {
		return nil
	}
	words := strings.Fields(line)
	var out test
	if len(words) == 4 && words[0] == "-tags" {
		out.tags, words = strings.Split(words[1], ","), words[2:]
	}
	if len(words) != 2 || !strings.HasPrefix(words[0], "./") {
		t.Fatalf("%s: want %q, then -tags TAGS where it needs any, a package and a test", path, caughtBy)
	}
	out.folder, out.name = words[0], words[1]
	return &out
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

// exists reports whether the package has the test when it is built with its tags.
func (c test) exists(t *testing.T) bool {
	t.Helper()
	context, folder := build.Default, filepath.Join(module, c.folder)
	context.BuildTags = c.tags
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(c.name, "/")
	for _, file := range files {
		built, err := context.MatchFile(folder, filepath.Base(file))
		if err != nil {
			t.Fatal(err)
		}
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if built && slices.ContainsFunc(source.Decls, func(d ast.Decl) bool {
			function, ok := d.(*ast.FuncDecl)
			return ok && function.Recv == nil && function.Name.Name == name
		}) {
			return true
		}
	}
	return false
}

// TestMutantsFit: each mutant still has a place in the sources, and the test that it names is there. `make mutants`
// shows that the test finds it.
func TestMutantsFit(t *testing.T) {
	for _, m := range readMutants(t, "") {
		t.Run(m.name, func(t *testing.T) {
			m.sources(t)
			if m.caught != nil && !m.caught.exists(t) {
				t.Errorf("%s has no %s", m.caught.folder, m.caught.name)
			}
		})
	}
}

// TestMissingTestsAreNoticed: a removed test, or one that its tags leave out, counts as missing.
func TestMissingTestsAreNoticed(t *testing.T) {
	for want, tests := range map[bool][]test{
		true: {
			{folder: "./internal/test/mutants", name: "TestMutantsFit/steady-writer"},
			{folder: "./internal/test/mutants", name: "TestMutants", tags: []string{"mutants"}},
		},
		false: {
			{folder: "./internal/test/mutants", name: "TestGone"},
			{folder: "./internal/test/mutants", name: "TestMutants"},
		},
	} {
		for _, each := range tests {
			if each.exists(t) != want {
				t.Errorf("%+v: want %v", each, want)
			}
		}
	}
}
