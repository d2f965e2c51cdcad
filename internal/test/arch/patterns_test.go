package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"testing"
)

// The operator is another program, and the mutants and bench are no part of any.
func TestNoPatternIsCompiledAtTheStart(t *testing.T) {
	report(t, earlyPatterns(sources(t), "internal/operator", "bench"))
}

func TestEveryPatternCompiles(t *testing.T) { report(t, wrongPatterns(sources(t))) }

// earlyPatterns finds regular expressions that are compiled when a program starts, outside the folders free.
func earlyPatterns(all []*source, free ...string) []string {
	var faults []string
	for _, s := range all {
		for _, decl := range s.ast.Decls {
			variables, ok := decl.(*ast.GenDecl)
			if !ok || variables.Tok != token.VAR || s.test || withinAny(s.folder(), free) {
				continue
			}
			ast.Inspect(variables, func(node ast.Node) bool {
				if _, later := node.(*ast.FuncLit); later {
					return false
				}
				if call, ok := node.(*ast.CallExpr); ok && called(call) == "MustCompile" && s.calls(call, "regexp") {
					faults = append(faults, fmt.Sprintf(
						"%s compiles a regular expression at every start, of every command: use pattern.Lazy", s.at(call)))
				}
				return true
			})
		}
	}
	return faults
}

func withinAny(folder string, roots []string) bool {
	for _, root := range roots {
		if within(folder, root) {
			return true
		}
	}
	return false
}

// wrongPatterns compiles the lazy patterns: otherwise only their first use would reveal a fault.
func wrongPatterns(all []*source) []string {
	var faults []string
	values := constants(all)
	for _, s := range all {
		ast.Inspect(s.ast, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || s.test || called(call) != "Lazy" || !s.calls(call, "pattern") {
				return true
			}
			if text, known := textOf(call.Args[0], values[s.folder()]); !known {
				faults = append(faults, fmt.Sprintf("%s has a pattern that is not made of constants", s.at(call)))
			} else if _, err := regexp.Compile(text); err != nil {
				faults = append(faults, fmt.Sprintf("%s: %v", s.at(call), err))
			}
			return true
		})
	}
	return faults
}

// constants returns the constants of each folder that are declared with a value.
func constants(all []*source) map[string]map[string]ast.Expr {
	out := map[string]map[string]ast.Expr{}
	for _, s := range all {
		if out[s.folder()] == nil {
			out[s.folder()] = map[string]ast.Expr{}
		}
		for _, decl := range s.ast.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				declared := spec.(*ast.ValueSpec)
				for i, value := range declared.Values {
					out[s.folder()][declared.Names[i].Name] = value
				}
			}
		}
	}
	return out
}

// textOf returns a text that is made of literals and constants.
func textOf(expr ast.Expr, values map[string]ast.Expr) (text string, known bool) {
	switch e := expr.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.ParenExpr:
		return textOf(e.X, values)
	case *ast.Ident:
		value, ok := values[e.Name]
		if !ok {
			return "", false
		}
		return textOf(value, values)
	case *ast.BinaryExpr:
		left, l := textOf(e.X, values)
		right, r := textOf(e.Y, values)
		return left + right, l && r
	}
	return "", false
}
