package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "tend.dev/tend"
	root   = "../../.."
)

// source is one parsed Go file; its name is relative to the module, with slashes.
type source struct {
	name string
	test bool
	ast  *ast.File
	set  *token.FileSet
	text []byte
	// imports maps the name a package goes by in the file to its path.
	imports map[string]string
}

func (s *source) folder() string { return path.Dir(s.name) }

// at returns file:line of a node.
func (s *source) at(node ast.Node) string {
	return fmt.Sprintf("%s:%d", s.name, s.set.Position(node.Pos()).Line)
}

func (s *source) lines() int { return s.set.File(s.ast.FileStart).LineCount() }

// uses visits every use of an exported name of an imported package, called or not.
func (s *source) uses(visit func(pkg, name string, node ast.Node)) {
	ast.Inspect(s.ast, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if base, ok := selector.X.(*ast.Ident); ok && base.Obj == nil {
			if pkg, ok := s.imports[base.Name]; ok {
				visit(pkg, selector.Sel.Name, node)
			}
		}
		return true
	})
}

func parse(name string, text []byte) (*source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	s := &source{name: name, test: strings.HasSuffix(name, "_test.go"), ast: file, set: set, text: text,
		imports: map[string]string{}}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		s.imports[importName(spec, imported)] = imported
	}
	return s, nil
}

// importName returns the name of a package in a file: a guess from its path where it isn't renamed, good enough for the
// standard library. Blank and dot imports keep their path.
func importName(spec *ast.ImportSpec, imported string) string {
	switch {
	case spec.Name == nil:
		base := path.Base(imported)
		if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
			base = path.Base(path.Dir(imported))
		}
		return base
	case spec.Name.Name == "_" || spec.Name.Name == ".":
		return imported
	}
	return spec.Name.Name
}

// tree parses the module once.
var tree = sync.OnceValues(func() ([]*source, error) {
	var sources []*source
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skip(file, entry.Name())
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		s, err := parse(filepath.ToSlash(relative), text)
		sources = append(sources, s)
		return err
	})
	return sources, err
})

// skip leaves out everything that doesn't belong to this module's packages: hidden folders, test data, binaries, nested
// modules.
func skip(file, name string) error {
	if file == root {
		return nil
	}
	_, err := os.Stat(filepath.Join(file, "go.mod"))
	if strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || err == nil {
		return filepath.SkipDir
	}
	return nil
}

func sources(t *testing.T) []*source {
	t.Helper()
	all, err := tree()
	if err != nil {
		t.Fatalf("parse the tree: %v", err)
	}
	if len(all) < 100 {
		t.Fatalf("found %d files under %s: this is not the tree", len(all), root)
	}
	return all
}

// report fails with each fault on a line of its own, in order.
func report(t *testing.T, faults []string) {
	t.Helper()
	sort.Strings(faults)
	for _, fault := range faults {
		t.Error(fault)
	}
}

// within reports whether a slash path is a folder or below it.
func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}
