package compose

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/template"
	"go.yaml.in/yaml/v3"

	"tend.dev/tend/api/pattern"
)

// variable matches $NAME or ${NAME…}; $$ is a dollar sign.
var variable = pattern.Lazy(`\$\$|\$\{?([A-Za-z_][A-Za-z0-9_]*)`)

// UnsetError is the error of an import that fails because variables of the file have no value.
type UnsetError struct {
	File string
	// Variables lists every variable without a value, also those that didn't cause the failure.
	Variables []string
	// Cause is the failure.
	Cause error
}

func (e *UnsetError) Error() string {
	noun, object, empty := "variables have", "them one", "with them empty"
	if len(e.Variables) == 1 {
		noun, object, empty = "variable has", "it one", "with it empty"
	}
	return fmt.Sprintf("%s: %d %s no value: %s\n  %s: %s\n  give %s, in .env beside the file or in the environment, and import again",
		e.File, len(e.Variables), noun, strings.Join(e.Variables, ", "), empty,
		strings.TrimPrefix(e.Cause.Error(), "read Compose file: "), object)
}

func (e *UnsetError) Unwrap() error { return e.Cause }

// unsetVariables returns the variables of files that have neither a value nor a default, and where the first is.
func unsetVariables(pieces []piece, environment map[string]string) (names []string, first *yaml.Node) {
	seen := map[string]bool{}
	for _, p := range pieces {
		eachScalar(p.node, 0, func(n *yaml.Node) {
			if !strings.Contains(n.Value, "$") {
				return
			}
			for name, v := range template.ExtractVariables(map[string]any{"": n.Value}, nil) {
				if _, set := environment[name]; set || v.DefaultValue != "" || v.PresenceValue != "" || defaulted(n.Value, name) {
					continue
				}
				if seen[name] = true; first == nil {
					first = n
				}
			}
		})
	}
	return slices.Sorted(maps.Keys(seen)), first
}

// defaulted reports whether a text gives a variable an empty default: ${NAME:-} and ${NAME-}.
func defaulted(text, name string) bool {
	return strings.Contains(text, "${"+name+":-") || strings.Contains(text, "${"+name+"-")
}

// blame returns the error of an import. It names the variables without a value if the import gets further with values
// for them.
func blame(ctx context.Context, o Options, unset []string, cause error) error {
	if len(unset) == 0 || o.filled {
		return cause
	}
	again := o
	again.filled = true
	again.Environment = slices.Clone(o.Environment)
	for _, name := range unset {
		again.Environment = append(again.Environment, name+"=1") // a tag, a port, a path and a number
	}
	if _, err := Import(ctx, again); err != nil && err.Error() == cause.Error() {
		return cause
	}
	return &UnsetError{File: o.Files[0], Variables: unset, Cause: cause}
}

// variables reports once per file which variables were replaced: the manifests have their current values.
func (r *report) variables(pieces []piece) {
	reported := map[string]bool{}
	for _, p := range pieces {
		if reported[p.file] || p.path != "" {
			continue
		}
		reported[p.file] = true
		var first *yaml.Node
		names := map[string]bool{}
		eachScalar(p.node, 0, func(n *yaml.Node) {
			for _, match := range variable().FindAllStringSubmatch(n.Value, -1) {
				if match[1] != "" {
					names[match[1]] = true
					first = cmp.Or(first, n)
				}
			}
		})
		if first == nil {
			continue
		}
		r.add(Finding{File: p.file, Line: first.Line, Column: first.Column, Path: "variables",
			Text: "the values of today were written for " + strings.Join(slices.Sorted(maps.Keys(names)), ", ")})
	}
}

// unset reports all variables without a value in one finding. Compose treats them as empty, too.
func (r *report) unset(file string, names []string, first *yaml.Node) {
	if len(names) == 0 {
		return
	}
	r.add(Finding{File: file, Line: first.Line, Column: first.Column, Path: "variables", Weight: Changes,
		Text: "no value, so empty, as with Compose: " + strings.Join(names, ", ")})
}

// eachScalar visits values, not keys. It visits the target of an alias where that is written.
func eachScalar(n *yaml.Node, depth int, visit func(*yaml.Node)) {
	if n == nil || depth > 64 {
		return
	}
	switch n.Kind {
	case yaml.ScalarNode:
		visit(n)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			eachScalar(item, depth+1, visit)
		}
	case yaml.MappingNode:
		for i := 1; i < len(n.Content); i += 2 {
			eachScalar(n.Content[i], depth+1, visit)
		}
	}
}
