package recipe

import (
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/command"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
)

// unknown is the value of a variable that depends on the engine's platform. No image name contains it.
const unknown = "\x00"

// plainUse matches a use of a variable that every engine expands in the same way, and that treats unset like empty.
var plainUse = pattern.Lazy(`\$\{\w+(\}|:-)`)

// expander puts the values of a Dockerfile's global arguments into words.
type expander struct {
	lex *shell.Lex
	// values holds the arguments on this machine, on an engine whose platform has no names, and on one whose platform is
	// unknown.
	values [3]map[string]string
	// odd are the arguments whose values engines may see differently.
	odd map[string]bool
}

func newExpander(given map[string]string) *expander {
	e := &expander{lex: shell.NewLex('\\'), odd: map[string]bool{}}
	platform := "linux/" + runtime.GOARCH
	e.values[0] = map[string]string{"BUILDPLATFORM": platform, "BUILDOS": "linux", "BUILDARCH": runtime.GOARCH, "TARGETPLATFORM": platform,
		"TARGETOS": "linux", "TARGETARCH": runtime.GOARCH, "TARGETSTAGE": "default", "BUILDOSVERSION": "", "BUILDVARIANT": "",
		"TARGETOSVERSION": "", "TARGETVARIANT": ""}
	e.values[1], e.values[2] = map[string]string{}, map[string]string{}
	for name := range e.values[0] {
		e.values[1][name], e.values[2][name] = "", unknown
		if value, there := given[name]; there {
			e.values[0][name] = value // so does BuildKit; other engines have no arguments of the platform
		}
	}
	for _, name := range []string{"BUILDPLATFORM", "TARGETPLATFORM"} {
		e.values[2][name] = unknown + "/" + unknown
	}
	return e
}

// expand returns the word expanded by each set of values. odd reports that engines may expand it differently.
func (e *expander) expand(word string) (out [3]string, odd bool) {
	odd = strings.ContainsAny(word, "\\`"+unknown) || strings.Count(word, "${") != len(plainUse().FindAllString(word, -1))
	for i, values := range e.values {
		lines := make([]string, 0, len(values))
		for name, value := range values {
			lines = append(lines, name+"="+value)
		}
		result, err := e.lex.ProcessWordWithMatches(word, shell.EnvsFromSlice(lines))
		odd = odd || err != nil || len(result.Unmatched) > 0
		for name := range result.Matched {
			odd = odd || e.odd[name]
		}
		out[i] = result.Result
	}
	return out, odd
}

// declare reads the argument of an ARG: the manifest's value comes before the default.
func (e *expander) declare(word string, given map[string]string) {
	name, value, valued := strings.Cut(word, "=")
	expanded, odd := e.expand(value)
	if set, there := given[name]; there {
		expanded, odd, valued = [3]string{set, set, set}, strings.Contains(set, unknown), true
	}
	if _, there := e.values[0][name]; there && !valued {
		return // the argument keeps its value
	}
	e.odd[name] = odd
	for i, values := range e.values {
		values[name] = expanded[i]
	}
}

// unclear reports whether the registry of an image depends on the engine's platform, or is unknown.
func unclear(image [3]string, odd bool) bool {
	var registries [3]string
	for i, name := range image {
		if at := strings.IndexByte(name, '/'); at >= 0 {
			registries[i] = name[:at]
		}
	}
	return odd || registries[0] != registries[1] || registries[0] != registries[2]
}

// bases returns the images that a Dockerfile builds on, copies from or mounts, and the words that engines may expand to
// different images. It leaves out scratch and the Dockerfile's own stages.
func bases(text string, build api.Build) (found, notClear []string) {
	parsed, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		return nil, []string{"a Dockerfile that can't be parsed"}
	}
	stages := []string{"scratch"}
	e, began := newExpander(build.Args), false
	add := func(word string, odd bool) {
		image, oddWord := e.expand(word)
		odd = odd || oddWord
		if unclear(image, odd) {
			notClear = append(notClear, word)
		}
		name := image[0]
		if _, numbered := strconv.Atoi(name); odd || name == "" || numbered == nil {
			return
		}
		if !slices.Contains(stages, strings.ToLower(name)) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	for _, node := range parsed.AST.Children {
		switch {
		case strings.EqualFold(node.Value, command.Arg) && !began:
			for word := node.Next; word != nil; word = word.Next {
				e.declare(word.Value, build.Args)
			}
		case strings.EqualFold(node.Value, command.From) && node.Next != nil:
			began = true
			add(node.Next.Value, false)
			if as := node.Next.Next; as != nil && as.Next != nil {
				stages = append(stages, strings.ToLower(as.Next.Value))
			}
		default:
			for _, from := range sources(node) {
				add(from, strings.ContainsRune(from, '$'))
			}
		}
	}
	return found, notClear
}

// sources returns the images that an instruction copies from or mounts.
func sources(node *parser.Node) (found []string) {
	for strings.EqualFold(node.Value, command.Onbuild) && node.Next != nil && len(node.Next.Children) > 0 {
		node = node.Next.Children[0]
	}
	for _, flag := range node.Flags {
		for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(flag, "--mount="), "--"), ",") {
			if key, from, valued := strings.Cut(strings.Trim(part, `" `), "="); valued && strings.EqualFold(key, "from") {
				found = append(found, from)
			}
		}
	}
	return found
}
