package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// dialect are words that neither comments nor declared names use, with the field's word. A plural counts too.
var dialect = map[string]string{
	"a look":    "reconcile, inspect",
	"anew":      "again",
	"door":      "listener, endpoint",
	"everybody": "who it is",
	"happening": "event",
	"hindrance": "reason",
	"obey":      "follow, simulate",
	"sighting":  "observation",
	"somebody":  "who it is",
	"stranger":  "orphan, foreign, unknown",
	"told":      "reported, notified, said",
	"whoever":   "who it is",
	"wish":      "request",
}

func TestCommentsArePlainEnglish(t *testing.T) { report(t, dialectFaults(sources(t), dialect)) }

func TestNamesArePlainEnglish(t *testing.T) { report(t, dialectNames(sources(t), dialect)) }

func dialectFaults(all []*source, words map[string]string) (faults []string) {
	var listed []string
	for word := range words {
		listed = append(listed, regexp.QuoteMeta(word))
	}
	slices.Sort(listed)
	pattern := regexp.MustCompile(`(?i)(?:^|[^\w".])(` + strings.Join(listed, "|") + `)s?(?:[^\w"(]|$)`)
	for _, s := range all {
		if s.folder() == "internal/test/arch" {
			continue
		}
		for _, group := range s.ast.Comments {
			if found := pattern.FindStringSubmatch(group.Text()); found != nil {
				word := strings.ToLower(found[1])
				faults = append(faults, fmt.Sprintf("%s says %q: say %s", s.at(group), word, words[word]))
			}
		}
	}
	return faults
}

// dialectNames checks the words of each name where it is declared: of types, functions, methods, fields, parameters,
// variables and constants.
func dialectNames(all []*source, words map[string]string) (faults []string) {
	for _, s := range all {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			for _, name := range declaredNames(n) {
				for _, part := range nameWords(name.Name) {
					word := strings.TrimSuffix(part, "s")
					if say := words[word]; say != "" {
						faults = append(faults, fmt.Sprintf("%s declares %s: say %s for %q", s.at(name), name.Name, say, word))
					}
				}
			}
			return true
		})
	}
	return faults
}

// declaredNames returns the names that a node declares itself.
func declaredNames(n ast.Node) (names []*ast.Ident) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		names = append(names, n.Name)
	case *ast.TypeSpec:
		names = append(names, n.Name)
	case *ast.ValueSpec:
		names = n.Names
	case *ast.Field:
		names = n.Names
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			names = identifiers(n.Lhs...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			names = identifiers(n.Key, n.Value)
		}
	}
	return names
}

func identifiers(expressions ...ast.Expr) (names []*ast.Ident) {
	for _, e := range expressions {
		if name, ok := e.(*ast.Ident); ok {
			names = append(names, name)
		}
	}
	return names
}

// nameWords splits a name at its capitals: newHTTPListener → new, http, listener.
func nameWords(name string) []string {
	var words []string
	letters := []rune(name)
	begin := 0
	for i := 1; i <= len(letters); i++ {
		atCapital := i < len(letters) && unicode.IsUpper(letters[i]) &&
			(!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if i == len(letters) || atCapital {
			words = append(words, strings.ToLower(string(letters[begin:i])))
			begin = i
		}
	}
	return words
}
