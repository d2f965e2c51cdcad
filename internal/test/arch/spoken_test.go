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
)

// speaking are the folders whose texts people read: what commands print, errors, conditions, actions of dry runs.
var speaking = []string{
	"api", "client", "internal/cli", "internal/control", "internal/core", "internal/input", "internal/kinds",
	"internal/node/agent", "internal/server",
}

// inner finds the words that belong to developers: people know pods.
var inner = regexp.MustCompile(`(?i)(?:^|[^\w-])(tasks?|slots?|(?:the|its) controller)(?:[^\w-]|$)`)

// TestTextsSpeakOfPods: no text that people read says task, slot, or the controller.
func TestTextsSpeakOfPods(t *testing.T) { report(t, innerWords(sources(t), speaking)) }

func innerWords(all []*source, folders []string) (faults []string) {
	for _, s := range all {
		within := slices.ContainsFunc(folders, func(folder string) bool { return within(s.folder(), folder) })
		if s.test || !within || strings.HasSuffix(s.folder(), "test") {
			continue
		}
		tags := map[*ast.BasicLit]bool{} // names for programs
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				tags[n.Tag] = true
			case *ast.CallExpr:
				if logs(n) {
					return false
				}
			case *ast.BasicLit:
				text, _ := strconv.Unquote(n.Value)
				if tags[n] {
					return false
				}
				if found := inner.FindStringSubmatch(text); n.Kind == token.STRING && found != nil && strings.Contains(text, " ") {
					faults = append(faults, fmt.Sprintf("%s says %q: people know pods", s.at(n), found[1]))
				}
			}
			return true
		})
	}
	return faults
}

// logs reports whether a call writes a line of the log, which operators read beside the store's records.
func logs(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	receiver := strings.ToLower(lastName(selector.X))
	return strings.HasSuffix(receiver, "log") || strings.HasSuffix(receiver, "logger")
}

// TestOnePlaceAsks: whether another name was meant is asked by core/suggest alone, wherever a name is typed.
func TestOnePlaceAsks(t *testing.T) { report(t, ownQuestions(sources(t))) }

func ownQuestions(all []*source) (faults []string) {
	for _, s := range all {
		if s.test || s.folder() == "internal/core/suggest" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if ok && strings.Contains(strings.ToLower(text.Value), "did you mean") {
				faults = append(faults, s.at(text)+" asks what was meant itself: use core/suggest")
			}
			return true
		})
	}
	return faults
}
