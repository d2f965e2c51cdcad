package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"tend.dev/tend/api/pattern"
)

// parseYAML reads every document of a text. A nil find leaves variables alone (a request's body).
func parseYAML(src *source, find lookup, f *faults) []*node {
	r := &yamlReader{src: src, find: find, faults: f}
	decoder := yaml.NewDecoder(bytes.NewReader(src.text))
	var out []*node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			r.syntax(err)
			return nil
		}
		if len(document.Content) == 0 {
			continue
		}
		if n := r.value(document.Content[0], 0); n != nil && n.kind != nullNode {
			out = append(out, n)
		}
		if r.nodes > maxNodes {
			return nil
		}
	}
}

// yamlReader turns YAML's tree into nodes. It replaces variables in scalars that are already parsed, so no value can
// end one. Comments never get here.
type yamlReader struct {
	src    *source
	find   lookup
	faults *faults
	nodes  int
}

var yamlLine = pattern.Lazy(`line (\d+)(?:, column (\d+))?: `)

// syntax reports a text that isn't YAML. The parser names a line; the column is where that line's text begins.
func (r *yamlReader) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line, column := 1, 1
	if match := yamlLine().FindStringSubmatch(text); match != nil {
		line, _ = strconv.Atoi(match[1])
		text = strings.Replace(text, match[0], "", 1)
		if strings.HasPrefix(text, "did not find expected") {
			line++ // the parser counts lines from 0 for some faults
		}
	}
	start := r.src.offset(line, 1)
	for i := start; i < len(r.src.text) && r.src.text[i] == ' '; i++ {
		column++
	}
	at := r.src.offset(line, column)
	next := ""
	if rest, _, _ := bytes.Cut(r.src.text[start:], []byte("\n")); bytes.Contains(rest, []byte("${")) {
		next = `inside [ ] and { }, put ${…} in quotes`
	}
	if above := r.above(line); next == "" && strings.Contains(text, "mapping values are not allowed") {
		rest, _, _ := bytes.Cut(r.src.text[start:], []byte("\n"))
		switch {
		case above != "":
			text = fmt.Sprintf("line %d is indented deeper than %s, which has a value already", line, above)
			next = "indent both alike"
		case bytes.Count(rest, []byte(": ")) > 1:
			text, next = "the value has a colon and a space, which begin another value", "put the value between quotes"
		}
	}
	if next == "" {
		next = nextForToken(text, string(r.src.text[start:]))
	}
	r.faults.at(r.src, span{at, at}, next, "this is not YAML: %s", text)
}

// nextForToken returns the next step for a character that YAML refuses where it is. rest is the text from its line on.
func nextForToken(fault, rest string) string {
	line, _, _ := strings.Cut(rest, "\n")
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	switch {
	case !strings.Contains(fault, "cannot start any token") && !strings.Contains(fault, "a tab character"):
		return ""
	case strings.Contains(indent, "\t"):
		return "indent it with spaces: YAML allows no tab there"
	}
	return "put the text between quotes: it begins with a character that YAML keeps for itself"
}

// above returns the key on the line before a deeper-indented one, if that key already has a value; else "".
func (r *yamlReader) above(line int) string {
	lines := strings.Split(string(r.src.text), "\n")
	if line < 2 || line > len(lines) {
		return ""
	}
	at := line - 2
	for ; at > 0; at-- { // blank lines and comments stand between fields
		if text := strings.TrimSpace(lines[at]); text != "" && !strings.HasPrefix(text, "#") {
			break
		}
	}
	before := lines[at]
	key, value, pair := strings.Cut(strings.TrimLeft(strings.TrimSpace(before), "- "), ":")
	if !pair || strings.TrimSpace(value) == "" || indentOf(lines[line-1]) <= indentOf(before) {
		return ""
	}
	return key
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func (r *yamlReader) span(n *yaml.Node) span {
	at := r.src.offset(n.Line, n.Column)
	end := at + 1
	if n.Kind == yaml.ScalarNode && !strings.Contains(n.Value, "\n") {
		end = at + len(n.Value)
	}
	return span{at, end}
}

func (r *yamlReader) fail(n *yaml.Node, next, format string, args ...any) *node {
	r.faults.at(r.src, r.span(n), next, format, args...)
	return nil
}

// value reads one node. It follows aliases, and counts the expanded nodes against the limit.
func (r *yamlReader) value(n *yaml.Node, depth int) *node {
	if r.nodes++; r.nodes == maxNodes+1 {
		return r.fail(n, "use fewer aliases", "the document unfolds to more than %d values", maxNodes)
	}
	if r.nodes > maxNodes {
		return nil
	}
	if depth > maxDepth {
		return r.fail(n, "", "values nest deeper than %d", maxDepth)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		return r.list(n, depth)
	case yaml.MappingNode:
		return r.object(n, depth)
	}
	return r.scalar(n)
}

func (r *yamlReader) list(n *yaml.Node, depth int) *node {
	out := &node{kind: listNode, at: r.span(n)}
	for _, item := range n.Content {
		if value := r.value(item, depth+1); value != nil {
			out.items = append(out.items, value)
		}
	}
	return out
}

func (r *yamlReader) object(n *yaml.Node, depth int) *node {
	out := &node{kind: objectNode, at: r.span(n)}
	var merged []*node
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], r.value(n.Content[i+1], depth+1)
		if key.Tag == "!!merge" {
			merged = append(merged, value)
			continue
		}
		name := r.key(key)
		if name == nil || value == nil {
			continue
		}
		if seen[name.text] {
			r.fail(key, "keep one of them", "%q is given twice", name.text)
			continue
		}
		seen[name.text] = true
		out.fields = append(out.fields, field{key: name.text, at: name.at, value: value})
	}
	for _, from := range merged {
		r.merge(out, from, n, seen)
	}
	return out
}

// merge adds the keys that `<<` merges, unless the object sets them itself.
func (r *yamlReader) merge(out, from *node, at *yaml.Node, seen map[string]bool) {
	switch {
	case from == nil:
	case from.kind == listNode:
		for _, item := range from.items {
			r.merge(out, item, at, seen)
		}
	case from.kind != objectNode:
		r.fail(at, "", "<< takes an object, not %s", from.kind)
	default:
		for _, f := range from.fields {
			if !seen[f.key] {
				seen[f.key] = true
				out.fields = append(out.fields, f)
			}
		}
	}
}

func (r *yamlReader) key(n *yaml.Node) *node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return r.fail(n, "", "a key is text")
	}
	return r.scalar(n)
}

func (r *yamlReader) scalar(n *yaml.Node) *node {
	out := &node{kind: textNode, text: n.Value, at: r.span(n)}
	switch tag := n.ShortTag(); tag {
	case "!!null":
		out.kind = nullNode
	case "!!bool":
		out.kind = boolNode
	case "!!int", "!!float":
		if err := checkNumber(n.Value); err != nil {
			return r.fail(n, "", "%s", err)
		}
		out.kind = numberNode
	case "!!str", "!!timestamp":
		r.variables(out, n)
	default:
		return r.fail(n, "leave the tag out", "the tag %s is not supported", tag)
	}
	return out
}

var yamlVariable = pattern.Lazy(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}\n]*))?\}`)

// variables replaces ${NAME} in one scalar, and $${ by ${.
func (r *yamlReader) variables(out *node, n *yaml.Node) {
	if r.find == nil { // the variables are the client's; what stands for the characters is the same everywhere
		out.text = strings.ReplaceAll(n.Value, "$${", "${")
		return
	}
	if !strings.Contains(n.Value, "${") {
		return
	}
	out.text = yamlVariable().ReplaceAllStringFunc(n.Value, func(found string) string {
		if found == "$${" {
			return "${"
		}
		v, _ := bracedIn([]byte(found), closingIn([]byte(found)))
		value, _, ok := v.expand(r.find)
		switch {
		case v.nested() && !r.faults.full():
			r.faults.at(r.src, r.locate(out.at.start, found), "",
				"the default of ${%s} holds another variable; defaults don't nest", v.name)
		case !ok && !r.faults.full():
			addMissing(r.faults, r.src, r.locate(out.at.start, found), v.name)
		case !utf8.ValidString(value) && !r.faults.full():
			addNoText(r.faults, r.src, r.locate(out.at.start, found), v.name)
		}
		return value
	})
}

// locate finds the text of a variable at or behind the beginning of its scalar.
func (r *yamlReader) locate(start int, text string) span {
	if i := bytes.Index(r.src.text[start:], []byte(text)); i >= 0 {
		return span{start + i, start + i + len(text)}
	}
	return span{start, start}
}
