package recipe

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/command"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"tend.dev/tend/api"
)

// BuildKitError means that a Dockerfile needs BuildKit, and that the engine has only the classic builder.
type BuildKitError struct {
	File    string
	Line    int
	Feature string
}

func (e *BuildKitError) Error() string {
	return fmt.Sprintf("%s:%d: %s needs BuildKit, which the engine does not have: write the step without it, or build the image elsewhere, "+
		"push it, and name it in image", e.File, e.Line, e.Feature)
}

// additions are the flags of each instruction that BuildKit supports beyond the classic builder.
var additions = map[string][]string{
	command.Run:  {"--mount", "--network", "--security"},
	command.Copy: {"--chmod", "--link", "--parents", "--exclude"},
	command.Add:  {"--chmod", "--link", "--exclude", "--checksum"},
}

// own returns the recipe of a Dockerfile of the tree, also of one that can't be parsed: the builder reports the
// cause.
func own(tree fs.FS, build api.Build, name, why string) Recipe {
	text := (&contents{FS: tree}).text(name)
	recipe := Recipe{Language: Docker, Folder: ".", Dockerfile: name, BuildKit: needsBuildKit(name, text), Why: why}
	recipe.Bases, recipe.Unclear = bases(text, build)
	return recipe
}

// instructions returns the instructions of a Dockerfile, or nil if it can't be parsed.
func instructions(text string) []*parser.Node {
	parsed, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		return nil
	}
	return parsed.AST.Children
}

// needsBuildKit returns the first instruction that the classic builder doesn't support, or nil. A "# syntax" line
// doesn't count: it is a comment to that builder, and the lines after it may well be plain.
func needsBuildKit(name, text string) *BuildKitError {
	for _, node := range instructions(text) {
		instruction := strings.ToLower(node.Value)
		for _, flag := range node.Flags {
			if flag, _, _ = strings.Cut(flag, "="); slices.Contains(additions[instruction], flag) {
				return &BuildKitError{File: name, Line: node.StartLine, Feature: strings.ToUpper(instruction) + " " + flag}
			}
		}
		if len(node.Heredocs) > 0 {
			return &BuildKitError{File: name, Line: node.StartLine, Feature: "a here-document"}
		}
	}
	return nil
}
