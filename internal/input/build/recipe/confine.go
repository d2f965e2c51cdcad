package recipe

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/moby/buildkit/frontend/dockerfile/command"

	"tend.dev/tend/api/pattern"
)

// Which parser reads a Dockerfile depends on the engine, and parsers differ in line continuation, here-documents, and
// which comments are directives. So the functions below judge each line by itself, and refuse a line they can't judge.

// splitADD is the beginning of ADD where the line is continued.
var splitADD = pattern.Lazy("(?i)^A(DD?)?[\\\\`]+$")

// syntax matches a directive that names the Dockerfile's parser, in each of its forms.
var syntax = pattern.Lazy(`(?i)^(?:#|//)\s*syntax\s*=(.*)$`)

// ownSyntax matches the image of Docker's own parser.
var ownSyntax = pattern.Lazy(`^(docker\.io/)?docker/dockerfile(:[\w.-]+)?(@sha256:[0-9a-f]+)?$`)

// Confine returns an error if a build by this recipe could reach the engine's own machine. The engine itself fetches
// the URLs of ADD, and runs the image that a syntax line names, which may fetch more.
func (r Recipe) Confine(tree fs.FS, args map[string]string) error {
	text := r.Text
	if r.Dockerfile != "" {
		text = (&contents{FS: tree}).text(r.Dockerfile)
	}
	const next = ": no admin declared this build"
	for name := range args {
		if strings.HasPrefix(strings.ToUpper(name), "BUILDKIT_") {
			return fmt.Errorf("args: %s is an option of the engine%s", name, next)
		}
	}
	if len(text) >= maxRead || text == "" || strings.HasPrefix(strings.TrimSpace(text), "{") {
		return fmt.Errorf("the Dockerfile is empty, larger than 1 MiB, or JSON%s", next)
	}
	if len(r.Unclear) > 0 {
		return fmt.Errorf("which image is meant can't be told from %.200s: write its registry without variables of the "+
			"platform, and its name with $NAME, ${NAME} or ${NAME:-default} of an ARG before the first FROM%s", r.Unclear[0], next)
	}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		line = strings.TrimSpace(line)
		if named := syntax().FindStringSubmatch(line); named != nil && !ownSyntax().MatchString(strings.TrimSpace(named[1])) {
			return fmt.Errorf("line %d: the syntax is %.100s: use docker/dockerfile:1, or leave the line out%s", number,
				strings.TrimSpace(named[1]), next)
		}
		words := strings.FieldsFunc(line, unicode.IsSpace)
		for len(words) > 0 && strings.EqualFold(words[0], command.Onbuild) {
			words = words[1:]
		}
		switch {
		case len(words) == 0:
		case splitADD().MatchString(words[0]):
			return fmt.Errorf("line %d: write ADD and what it adds in one line%s", number, next)
		case strings.EqualFold(words[0], command.Add) && slices.ContainsFunc(words[1:], notPlain):
			return fmt.Errorf("line %d: ADD fetches no URL here, and takes no variables: fetch it in RUN, or COPY a file of the source%s", number, next)
		}
	}
	return nil
}

// notPlain reports whether an argument of ADD may be a URL, or expand to one.
func notPlain(word string) bool {
	return !strings.HasPrefix(word, "--") && strings.ContainsAny(word, ":$\\`")
}
