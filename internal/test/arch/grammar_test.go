package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the most characters of a line; a tab is one. The text of strings doesn't count, since a message that is
// broken is not found any more, nor do directives of tools.
const maxColumns = 120

// relative finds relative clauses in the place of a noun ("X is how Y is"), and denials of a noun ("X is no Y").
var relative = regexp.MustCompile(`(?i)(?:^|[^\w-])(is (?:how|what|none|no))(?:[^\w-]|$)`)

// natural are the good sentences with these words. They are cut out before the search.
var natural = regexp.MustCompile(`(?i)there is no(?:ne)?\b|\bis no (?:longer|more|less|such)\b|network_mode is none`)

func TestSentencesHaveTheirSubject(t *testing.T) { report(t, relativeClauses(sources(t))) }

// relativeClauses finds such sentences in comments and in texts.
func relativeClauses(all []*source) (faults []string) {
	for _, s := range all {
		if s.folder() == "internal/test/arch" {
			continue
		}
		check := func(n ast.Node, text string) {
			text = natural.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
			if found := relative.FindStringSubmatch(text); found != nil {
				faults = append(faults, fmt.Sprintf("%s says %q: begin with the subject, then the verb", s.at(n), found[1]))
			}
		}
		for _, group := range s.ast.Comments {
			check(group, group.Text())
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				check(literal, text)
			}
			return true
		})
	}
	return faults
}

// saying finds a declaration that says or tells something: a function returns or does it, a type or a value is it.
// The text of a field may say something.
var saying = regexp.MustCompile(`^\w+ ((?:says|tells) (?:what|how|whether|where|when|why|which|who|if))\b`)

func TestDeclarationsDontSay(t *testing.T) { report(t, sayers(sources(t))) }

// sayers finds such comments. Those of api/kube are the descriptions of the CRDs.
func sayers(all []*source) (faults []string) {
	for _, s := range all {
		if ast.IsGenerated(s.ast) || within(s.folder(), "api/kube") {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			var doc *ast.CommentGroup
			switch n := n.(type) {
			case *ast.FuncDecl:
				doc = n.Doc
			case *ast.GenDecl:
				doc = n.Doc
			case *ast.TypeSpec:
				doc = n.Doc
			case *ast.ValueSpec:
				doc = n.Doc
			}
			if found := saying.FindStringSubmatch(strings.Join(strings.Fields(doc.Text()), " ")); found != nil {
				faults = append(faults, fmt.Sprintf("%s: the comment %q: write what it returns, does or is", s.at(n), found[1]))
			}
			return true
		})
	}
	return faults
}

func TestLinesAreShort(t *testing.T) { report(t, longLines(sources(t))) }

func longLines(all []*source) (faults []string) {
	for _, s := range all {
		if ast.IsGenerated(s.ast) {
			continue
		}
		spared := sparedColumns(s)
		for i, line := range strings.Split(string(s.text), "\n") {
			if length := utf8.RuneCountInString(line) - spared[i+1]; length > maxColumns {
				faults = append(faults, fmt.Sprintf("%s:%d has %d columns, the most is %d", s.name, i+1, length, maxColumns))
			}
		}
	}
	return faults
}

// sparedColumns returns the number of columns of each line that don't count.
func sparedColumns(s *source) map[int]int {
	spared := map[int]int{}
	spare := func(n ast.Node, text string) {
		line := s.set.Position(n.Pos()).Line
		for i, part := range strings.Split(text, "\n") {
			spared[line+i] += utf8.RuneCountInString(part)
		}
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			spare(literal, literal.Value)
		}
		return true
	})
	for _, group := range s.ast.Comments {
		for _, comment := range group.List {
			if isDirective(comment.Text) {
				spare(comment, comment.Text)
			}
		}
	}
	return spared
}

// isDirective reports whether a comment is one that a tool reads, and that can't be broken.
func isDirective(comment string) bool {
	return slices.ContainsFunc([]string{"//nolint", "//go:", "// +kubebuilder:"}, func(prefix string) bool {
		return strings.HasPrefix(comment, prefix)
	})
}
