package arch

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	maxFile     = 300
	maxFunction = 60
)

// longer names files ("path/file.go") and functions ("path/file.go#Name") that may be longer, each with its reason.
// Tests are free.
var longer = map[string]string{}

// vague are folder names that don't describe the content.
var vague = []string{"base", "common", "helper", "helpers", "lib", "misc", "model", "models", "shared",
	"types", "util", "utils"}

func TestFilesAndFunctionsAreShort(t *testing.T) { report(t, tooLong(sources(t), longer)) }

func TestFoldersAreNouns(t *testing.T) { report(t, vagueFolders(sources(t))) }

func TestNothingIsLeftToDo(t *testing.T) { report(t, unfinished(sources(t))) }

func tooLong(all []*source, allow map[string]string) []string {
	var faults []string
	used := map[string]bool{}
	check := func(name, at string, lines, most int) {
		if lines <= most {
			return
		}
		if used[name] = true; allow[name] == "" {
			faults = append(faults,
				fmt.Sprintf("%s has %d lines, the most is %d: split it by concept, or name it with its reason", at, lines, most))
		}
	}
	for _, s := range all {
		if s.test || ast.IsGenerated(s.ast) {
			continue
		}
		check(s.name, s.name, s.lines(), maxFile)
		for _, decl := range s.ast.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				lines := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line + 1
				check(s.name+"#"+f.Name.Name, s.at(f)+" "+f.Name.Name, lines, maxFunction)
			}
		}
	}
	for name := range allow {
		if !used[name] {
			faults = append(faults, fmt.Sprintf("%s is allowed to be long and isn't: take it off the list", name))
		}
	}
	return faults
}

func vagueFolders(all []*source) []string {
	var faults []string
	for _, s := range all {
		if slices.Contains(vague, path.Base(s.folder())) {
			faults = append(faults, fmt.Sprintf("%s: a folder is a noun of the domain, and %s is not", s.name,
				path.Base(s.folder())))
		}
	}
	return faults
}

// unfinished finds comments that postpone work. The words are concatenated here, so that this file doesn't contain
// them.
func unfinished(all []*source) []string {
	var faults []string
	for _, s := range all {
		for _, group := range s.ast.Comments {
			for _, word := range []string{"TO" + "DO", "FIX" + "ME", "XX" + "X"} {
				if slices.Contains(strings.FieldsFunc(group.Text(), notLetter), word) {
					faults = append(faults, fmt.Sprintf("%s says %s: do it, or write down the limit as it is", s.at(group), word))
				}
			}
		}
	}
	return faults
}

func notLetter(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }
