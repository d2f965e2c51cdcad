package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"tend.dev/tend/api"
)

// Section is one object to write, with the comment lines above it, without their #.
type Section struct {
	Object   api.Object
	Comments []string
}

// Write writes objects as HCL that loads to the same objects: fields in the order of their struct, keys of tables
// sorted, texts escaped. HCL has a form for the labels and annotations of kinds that are delivered to a cluster;
// another object with any is an error.
func Write(sections []Section) ([]byte, error) {
	var w writer
	for i, section := range sections {
		if i > 0 {
			w.WriteString("\n")
		}
		for _, comment := range section.Comments {
			w.WriteString(strings.TrimRight("# "+comment, " ") + "\n")
		}
		if err := w.object(section.Object); err != nil {
			return nil, fmt.Errorf("write %s: %w", section.Object.Ref(), err)
		}
	}
	return hclwrite.Format(w.Bytes()), nil
}

type writer struct{ bytes.Buffer }

func (w *writer) object(o api.Object) error {
	if len(o.Metadata.Labels)+len(o.Metadata.Annotations) > 0 && !o.Kind.Delivered() {
		return fmt.Errorf("HCL has no form for labels and annotations of %s; write it as YAML", o.Kind)
	}
	labels := quote(o.Scope) + " " + quote(o.Name)
	if o.Scope == api.Unscoped {
		labels = quote(o.Name)
	}
	fmt.Fprintf(w, "%s %s {\n", o.Kind, labels)
	if o.Kind == api.KindAsset {
		if err := w.files(o.Spec); err != nil {
			return err
		}
	} else {
		t := o.Kind.Info().Spec
		if t == nil {
			return fmt.Errorf("kind %q is not supported yet", o.Kind)
		}
		fields, err := readObject(o.Spec)
		if err != nil {
			return err
		}
		w.metadata(o.Metadata)
		w.body(t, fields)
	}
	w.WriteString("}\n")
	return nil
}

// metadata writes labels and annotations.
func (w *writer) metadata(m api.Metadata) {
	for i, table := range []map[string]string{m.Labels, m.Annotations} {
		values := map[string]any{}
		for key, value := range table {
			values[key] = value
		}
		if len(values) > 0 {
			w.WriteString(metadataTables[i] + " = " + expression(values) + "\n")
		}
	}
}

// readObject decodes an object and keeps numbers as they are written.
func readObject(raw json.RawMessage) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("read the spec: %w", err)
	}
	return fields, nil
}

// body writes attributes first, then blocks, each after an empty line.
func (w *writer) body(t reflect.Type, fields map[string]any) {
	var blocks []property
	written := false
	for _, p := range properties(t) {
		value, given := fields[p.name]
		switch {
		case !given || value == nil || p.label:
		case p.block:
			blocks = append(blocks, p)
		default:
			w.WriteString(p.native + " = " + expression(value) + "\n")
			written = true
		}
	}
	for _, p := range blocks {
		of := p.of
		items := []any{fields[p.name]}
		if p.of.Kind() == reflect.Slice {
			items, _ = fields[p.name].([]any)
			of = p.of.Elem()
		}
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		for _, item := range items {
			if written {
				w.WriteString("\n")
			}
			written = true
			inner, _ := item.(map[string]any)
			w.WriteString(p.native + blockLabels(of, inner) + " {\n")
			w.body(of, inner)
			w.WriteString("}\n")
		}
	}
}

// blockLabels returns the fields that HCL writes before a block's brace.
func blockLabels(t reflect.Type, fields map[string]any) string {
	out := ""
	for _, p := range properties(t) {
		if text, ok := fields[p.name].(string); ok && p.label {
			out += " " + quote(text)
		}
	}
	return out
}

// files writes an asset's body: a text, or the call that fetches it.
func (w *writer) files(raw json.RawMessage) error {
	spec, err := api.DecodeStrict[api.AssetSpec](raw)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Files)) {
		if !hclsyntax.ValidIdentifier(name) {
			return fmt.Errorf("HCL has no form for the key %q: it begins with a letter or _; write it as YAML", name)
		}
		switch file := spec.Files[name]; file.Source {
		case api.AssetInline:
			w.WriteString(name + " = " + document(file.Text) + "\n")
		case api.AssetLocal:
			w.WriteString(name + " = file(" + quote(file.Filename) + ")\n")
		default:
			options := map[string]any{}
			if file.Timeout != "" {
				options["timeout"] = string(file.Timeout)
			}
			if file.OnFailure != "" {
				options["on_failure"] = file.OnFailure
			}
			w.WriteString(name + " = url(" + quote(file.URL))
			if len(options) > 0 {
				w.WriteString(", " + expression(options))
			}
			w.WriteString(")\n")
		}
	}
	return nil
}

// longLine is the length from which a list is written with one entry per line.
const longLine = 90

// expression returns a JSON value as HCL.
func expression(value any) string {
	switch v := value.(type) {
	case string:
		return quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = expression(item)
		}
		if line := "[" + strings.Join(parts, ", ") + "]"; len(line) <= longLine && !strings.Contains(line, "\n") {
			return line
		}
		return "[\n" + strings.Join(parts, ",\n") + ",\n]"
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, keyOf(name)+" = "+expression(v[name]))
		}
		if line := "{ " + strings.Join(parts, ", ") + " }"; len(parts) < 3 && len(line) <= longLine &&
			!strings.Contains(line, "\n") {
			return line
		}
		return "{\n" + strings.Join(parts, "\n") + "\n}"
	case nil:
		return "null"
	}
	return fmt.Sprint(value) // a json.Number, true or false
}

func keyOf(name string) string {
	switch name {
	case "true", "false", "null", "for":
		return quote(name)
	}
	if bareKey().MatchString(name) {
		return name
	}
	return quote(name)
}

// document returns a text of several lines as a heredoc, or "" if a heredoc would change its meaning.
func document(text string) string {
	plain := strings.HasSuffix(text, "\n") && strings.Count(text, "\n") > 1 && !strings.ContainsAny(text, "\r") &&
		!strings.Contains(text, "${") && !strings.Contains(text, "%{")
	for line := range strings.Lines(text) { // HCL ends a heredoc at its word, also between spaces
		plain = plain && strings.TrimSpace(line) != "EOT"
	}
	for _, r := range text {
		plain = plain && (r >= ' ' || r == '\n' || r == '\t')
	}
	if !plain {
		return quote(text)
	}
	return "<<EOT\n" + text + "EOT"
}
