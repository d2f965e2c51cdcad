package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestLogKeysAreDocumented: docs/operate/logs.md lists the keys of log lines, each once, with one meaning: a query by a
// key finds what it should whichever part wrote the line.
func TestLogKeysAreDocumented(t *testing.T) {
	report(t, logKeyFaults(sources(t), readPage(t, "docs/operate/logs.md")))
}

var logKeyRow = regexp.MustCompile("(?m)^\\| ((?:`[a-z_]+`(?:, )?)+) \\|")

func logKeyFaults(all []*source, page string) (faults []string) {
	listed := map[string]bool{}
	_, page, _ = strings.Cut(page, "\n## Keys\n")
	for _, row := range logKeyRow.FindAllStringSubmatch(page, -1) {
		for _, key := range strings.Split(row[1], ", ") {
			key = strings.Trim(key, "`")
			if listed[key] {
				faults = append(faults, fmt.Sprintf("docs/operate/logs.md lists the key %s twice", key))
			}
			listed[key] = true
		}
	}
	used := map[string]bool{}
	for _, s := range all {
		if s.test || !strings.HasPrefix(s.name, "internal/") && !strings.HasPrefix(s.name, "cmd/") {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, key := range logKeys(call) {
				used[key] = true
				if !listed[key] {
					faults = append(faults, fmt.Sprintf("%s logs the key %s, which docs/operate/logs.md doesn't list", s.name, key))
				}
			}
			return true
		})
	}
	for _, key := range slices.Sorted(maps.Keys(listed)) {
		if !used[key] {
			faults = append(faults, fmt.Sprintf("docs/operate/logs.md lists the key %s, which nothing logs", key))
		}
	}
	return faults
}

// logKeys returns the keys of a call that logs, or that makes attributes for such a call.
func logKeys(call *ast.CallExpr) []string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		if name, ok := first(call).(*ast.Ident); f.Name == "keyAttrs" || f.Name == "append" && ok && name.Name == "attrs" {
			return pairs(call.Args[1:])
		}
	case *ast.SelectorExpr:
		receiver := strings.ToLower(lastName(f.X))
		switch {
		case receiver == "slog" && slices.Contains([]string{"String", "Int", "Int64", "Bool", "Duration", "Time", "Any",
			"Group"}, f.Sel.Name):
			return pairs(call.Args[:1])
		case !strings.HasSuffix(receiver, "log") && !strings.HasSuffix(receiver, "logger"):
		case f.Sel.Name == "With":
			return pairs(call.Args)
		case slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, f.Sel.Name):
			return pairs(call.Args[1:])
		case slices.Contains([]string{"DebugContext", "InfoContext", "WarnContext", "ErrorContext"}, f.Sel.Name):
			return pairs(call.Args[2:])
		}
	}
	return nil
}

// pairs returns the keys among keys, values and attributes.
func pairs(args []ast.Expr) (keys []string) {
	for i := 0; i < len(args); i++ {
		if literal, ok := args[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			key, _ := strconv.Unquote(literal.Value)
			keys = append(keys, key)
			i++
		}
	}
	return keys
}

func first(call *ast.CallExpr) ast.Expr {
	if len(call.Args) == 0 {
		return nil
	}
	return call.Args[0]
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
