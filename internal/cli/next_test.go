package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNextStepsHaveOneForm: the label of a next step is written in one file of the commands, and no other part of the
// program has a second form of it.
func TestNextStepsHaveOneForm(t *testing.T) {
	label := regexp.MustCompile(`\b[Nn]ext: `)
	files := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		ours := filepath.Dir(path) == filepath.Join("..", "cli") && filepath.Base(path) != "next.go"
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			for _, found := range label.FindAllString(strings.ReplaceAll(literal.Value, `\n`, "\n"), -1) {
				if ours || found != nextLabel {
					t.Errorf("%s: %s: use nextLine or nextLabel", set.Position(literal.Pos()), literal.Value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 500 {
		t.Fatalf("%d files, %v", files, err)
	}
}
