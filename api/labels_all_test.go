package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestLabelsAreAllOfThem: a constant that Labels leaves out is one that an image could set on a container.
func TestLabelsAreAllOfThem(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			constant, ok := n.(*ast.ValueSpec)
			if !ok || len(constant.Values) != 1 || !strings.HasPrefix(constant.Names[0].Name, "Label") ||
				constant.Names[0].Name == "LabelPrefix" {
				return true
			}
			literal, ok := constant.Values[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			name, _ := strconv.Unquote(literal.Value)
			if found++; !slices.Contains(Labels(), name) {
				t.Errorf("%s: Labels has no %s, which is %s", file, constant.Names[0].Name, name)
			}
			return true
		})
	}
	if found != len(Labels()) {
		t.Errorf("%d constants, %d labels", found, len(Labels()))
	}
}
