package compose

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// variable matches $NAME or ${NAME…}; $$ is a dollar sign.
var variable = regexp.MustCompile(`\$\$|\$\{?([A-Za-z_][A-Za-z0-9_]*)`)

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
			for _, match := range variable.FindAllStringSubmatch(n.Value, -1) {
				if match[1] != "" {
					names[match[1]] = true
					if first == nil {
						first = n
					}
				}
			}
		})
		if first == nil {
			continue
		}
		sorted := make([]string, 0, len(names))
		for name := range names {
			sorted = append(sorted, name)
		}
		slices.Sort(sorted)
		r.add(Finding{File: p.file, Line: first.Line, Column: first.Column, Path: "variables",
			Text: "the values of today were written for " + strings.Join(sorted, ", ")})
	}
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
