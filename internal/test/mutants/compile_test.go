package mutants

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestMutantsCompile: each mutant compiles, since what doesn't shows nothing. Each package that a mutant changes is
// checked by itself, against the others as they are compiled.
func TestMutantsCompile(t *testing.T) {
	mutants := readMutants(t, "")
	house := loadHouse(t, mutants)
	for _, m := range mutants {
		for _, fault := range house.check(m.sources(t)) {
			t.Errorf("%s: %v", m.name, fault)
		}
	}
}

// TestWhatDoesNotCompileIsNoticed: a change that the compiler refuses is a fault.
func TestWhatDoesNotCompileIsNoticed(t *testing.T) {
	file := filepath.Join(module, "internal/store/etcd/lock.go")
	house := loadHouse(t, []mutant{{parts: []part{{file: file}}}})
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if faults := house.check(map[string]string{file: string(source)}); len(faults) > 0 {
		t.Errorf("as it is: %v", faults)
	}
	for name, more := range map[string]string{"unused": "func f() { unused := 1 }", "syntax": "func {"} {
		if faults := house.check(map[string]string{file: string(source) + more}); len(faults) == 0 {
			t.Errorf("%s: accepted", name)
		}
	}
}

// house is the packages that mutants change, by their folders, and what they import as it is compiled.
type house struct {
	files    *token.FileSet
	packages map[string]*packages.Package
	imports  types.Importer
}

func loadHouse(t *testing.T, mutants []mutant) *house {
	t.Helper()
	folders := map[string]bool{}
	for _, m := range mutants {
		for _, p := range m.parts {
			folders[filepath.Dir(p.file)] = true
		}
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile,
	}, slices.Collect(maps.Keys(folders))...)
	if err != nil {
		t.Fatal(err)
	}
	h, exports := &house{files: token.NewFileSet(), packages: map[string]*packages.Package{}}, map[string]string{}
	packages.Visit(loaded, nil, func(p *packages.Package) { exports[p.PkgPath] = p.ExportFile })
	h.imports = importer.ForCompiler(h.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range loaded {
		h.packages[filepath.Dir(p.GoFiles[0])] = p
	}
	return h
}

// check returns the errors of the packages whose sources are as given, by path.
func (h *house) check(sources map[string]string) (faults []error) {
	changed, folders := map[string]string{}, map[string]bool{}
	for path, source := range sources {
		at, err := filepath.Abs(path)
		if err != nil {
			return []error{err}
		}
		changed[at], folders[filepath.Dir(at)] = source, true
	}
	for folder := range folders {
		p := h.packages[folder]
		var syntax []*ast.File
		for _, file := range p.GoFiles {
			var source any // nil: as it is on the disk
			if text, is := changed[file]; is {
				source = text
			}
			parsed, err := parser.ParseFile(h.files, file, source, parser.SkipObjectResolution)
			if err != nil {
				faults = append(faults, err)
			}
			syntax = append(syntax, parsed)
		}
		checker := types.Config{Importer: h.imports, Error: func(err error) { faults = append(faults, err) }}
		_, _ = checker.Check(p.PkgPath, h.files, syntax, nil) // its errors are in faults
	}
	return faults
}
