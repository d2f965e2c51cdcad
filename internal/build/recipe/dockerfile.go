package recipe

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// BuildKitError means that a Dockerfile needs something that the classic builder doesn't have.
type BuildKitError struct {
	File    string
	Line    int
	Feature string
}

func (e *BuildKitError) Error() string {
	return fmt.Sprintf("%s:%d: %s needs BuildKit, which is not supported: write the step without it, or build the image elsewhere, "+
		"push it, and name it in image", e.File, e.Line, e.Feature)
}

// additions are what BuildKit supports beyond the classic builder. An instruction is matched without its continuations,
// except for flags, which are at its beginning.
var additions = []struct {
	feature string
	pattern *regexp.Regexp
}{
	{"RUN --mount", regexp.MustCompile(`(?i)^RUN\s+(--\S+\s+)*--mount=`)},
	{"RUN --network", regexp.MustCompile(`(?i)^RUN\s+(--\S+\s+)*--network=`)},
	{"RUN --security", regexp.MustCompile(`(?i)^RUN\s+(--\S+\s+)*--security=`)},
	{"--chmod", regexp.MustCompile(`(?i)^(COPY|ADD)\s+(--\S+\s+)*--chmod=`)},
	{"--link", regexp.MustCompile(`(?i)^(COPY|ADD)\s+(--\S+\s+)*--link`)},
	{"--parents", regexp.MustCompile(`(?i)^COPY\s+(--\S+\s+)*--parents`)},
	{"--exclude", regexp.MustCompile(`(?i)^(COPY|ADD)\s+(--\S+\s+)*--exclude=`)},
	{"ADD --checksum", regexp.MustCompile(`(?i)^ADD\s+(--\S+\s+)*--checksum=`)},
	{"a here-document", regexp.MustCompile(`(?i)^(RUN|COPY|ADD)\s+(--\S+\s+)*<<-?["']?[A-Za-z_]`)},
}

var fromLine = regexp.MustCompile(`(?im)^\s*FROM\s+(?:--platform=\S+\s+)?(\S+)(?:\s+AS\s+(\S+))?\s*$`)

// classic returns the recipe of a Dockerfile of the tree.
func classic(tree fs.FS, name, why string) (Recipe, bool, error) {
	text := (&contents{FS: tree}).text(name)
	if err := classicFault(name, text); err != nil {
		return Recipe{}, true, err
	}
	return Recipe{Language: Docker, Folder: ".", Dockerfile: name, Bases: bases(text), Why: why}, true, nil
}

// classicFault returns an error for the first instruction that the classic builder doesn't support. A "# syntax" line
// is not one: it is a comment to that builder, and what follows it may well be plain.
func classicFault(name, text string) error {
	continued := false
	start := 0
	var instruction strings.Builder
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || line == "" && !continued {
			continue
		}
		if !continued {
			instruction.Reset()
			start = i + 1
		}
		head, more := strings.CutSuffix(line, "\\")
		instruction.WriteString(head + " ")
		if continued = more; more {
			continue
		}
		for _, a := range additions {
			if a.pattern.MatchString(instruction.String()) {
				return &BuildKitError{File: name, Line: start, Feature: a.feature}
			}
		}
	}
	return nil
}

// bases returns the images a Dockerfile begins its stages with; those of its own stages, and scratch, are none.
func bases(text string) []string {
	var out, stages []string
	for _, match := range fromLine.FindAllStringSubmatch(text, -1) {
		image := match[1]
		if image != "scratch" && !strings.Contains(image, "$") && !slices.Contains(stages, strings.ToLower(image)) && !slices.Contains(out, image) {
			out = append(out, image)
		}
		stages = append(stages, strings.ToLower(match[2]))
	}
	return out
}
