package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tend.dev/tend/api"
)

// draft is an object in progress: decoded, with the positions of its fields.
type draft struct {
	object api.Object
	spec   map[string]any
	src    *source
	// at is the position of the object, places the positions of its fields.
	at     span
	places map[string]span
	broken bool
	// assumed is set for an object with neither image nor build, which is built from the project's folder.
	assumed bool
}

// finish writes the spec as canonical JSON: keys sorted, nothing added. It refuses text that JSON would change.
func (d *draft) finish() error {
	if !isText(d.spec) {
		return fmt.Errorf("encode %s: it holds bytes that are not UTF-8 text", d.object.Ref())
	}
	raw, err := canonical(d.spec)
	if err != nil {
		return fmt.Errorf("encode %s: %w", d.object.Ref(), err)
	}
	d.object.Spec = raw
	return nil
}

// isText reports whether all texts and keys of a decoded value are UTF-8.
func isText(value any) bool {
	switch v := value.(type) {
	case string:
		return utf8.ValidString(v)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !isText(item) })
	case map[string]any:
		for key, item := range v {
			if !utf8.ValidString(key) || !isText(item) {
				return false
			}
		}
	}
	return true
}

func canonical(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// locate returns the position of a field, or of the closest enclosing one.
func (d *draft) locate(field string) span {
	for field != "" {
		if at, found := d.places[field]; found {
			return at
		}
		cut := strings.LastIndexAny(field, ".[")
		field = field[:max(cut, 0)]
	}
	return d.at
}

// diagnose adds a position to a validation error.
func (d *draft) diagnose(e api.FieldError) Diagnostic {
	out := d.src.diagnostic(d.locate(e.Field), e.Detail, "")
	out.Object, out.Field = e.Object, e.Field
	return out
}

// decodeSpec decodes an object's spec by its kind; false if it was refused.
func (d *draft) decodeSpec(n *node, native bool, f *faults) bool {
	t := d.object.Kind.Info().Spec
	if t == nil && d.object.Kind.Core() {
		f.at(d.src, d.at, "", "kind %q is not supported yet", d.object.Kind)
		return false
	}
	before := f.count()
	decoder := &decoder{src: d.src, faults: f, native: native, object: d.object.Ref().String(), places: d.places}
	root := *n
	root.block = native
	root.labels = nil
	if native && d.object.Kind.Delivered() {
		d.nativeMetadata(&root, f)
	}
	if !d.object.Kind.Core() {
		d.spec = decoder.macro(&root, "")
	} else if read := bodies[d.object.Kind]; read != nil && root.kind == objectNode {
		d.spec = read(decoder, &root)
	} else {
		d.spec, _ = decoder.value(&root, t, "").(map[string]any)
	}
	d.broken = f.count() > before || d.spec == nil
	return !d.broken
}
