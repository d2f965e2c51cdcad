package manifest

import (
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/suggest"
)

// draftsOfValues decodes YAML and JSON: each value is an object, or a list of them.
func draftsOfValues(src *source, values []*node, f *faults) []*draft {
	var out []*draft
	for _, value := range values {
		items := []*node{value}
		if value.kind == listNode {
			items = value.items
		}
		for _, item := range items {
			if d := draftOfValue(src, item, f); d != nil {
				out = append(out, objectsOf(d, f)...)
			}
		}
	}
	return out
}

var envelopeKeys = []string{"kind", "scope", "name", "metadata", "spec", "status"}

// draftOfValue decodes {kind, scope, name, metadata, spec}. It accepts and ignores the fields that the server adds
// (status, and metadata other than labels and annotations), so that the output of `get` can be applied.
func draftOfValue(src *source, n *node, f *faults) *draft {
	if n.kind != objectNode {
		f.at(src, n.at, "", "a manifest is an object with kind, scope, name and spec, not %s", n.kind)
		return nil
	}
	if services := n.find("services"); services != nil && n.find("kind") == nil {
		f.at(src, services.at, "tend import compose makes a manifest from it, and tend adopt compose takes over what runs",
			"this is a Compose file, not a manifest")
		return nil
	}
	if fromKubernetes(src, n, f) {
		return nil
	}
	for _, entry := range n.fields {
		if !slices.Contains(envelopeKeys, entry.key) {
			f.at(src, entry.at, suggest.Question(entry.key, envelopeKeys), "a manifest has no field %q", entry.key)
		}
	}
	d := &draft{src: src, at: n.at, places: map[string]span{}}
	before := f.count()
	kind := d.word(n, "kind", f)
	parsed, err := api.ParseKind(kind)
	if err != nil && macroKind(kind) {
		parsed, err = api.Kind(kind), nil
	}
	scope := n.find("scope")
	unscoped := scope == nil || scope.value.kind == nullNode
	switch {
	case unscoped && scopeless(parsed):
		d.object.Scope = api.Unscoped
	case parsed.Macro() && (unscoped || scope.value.kind == textNode && scope.value.text == ""):
	default:
		d.object.Scope = d.word(n, "scope", f)
	}
	d.object.Name = d.word(n, "name", f)
	if f.count() > before {
		return nil
	}
	if err != nil {
		f.at(src, d.places["kind"], closestKind(kind), "%s", err)
		return nil
	}
	d.object.Kind = parsed
	d.metadata(n.find("metadata"), f)
	spec := n.find("spec")
	if spec == nil || spec.value.kind == nullNode {
		f.at(src, n.at, "", "%s has no spec", d.object.Ref())
		return nil
	}
	if !d.decodeSpec(spec.value, false, f) {
		return keepBroken(d)
	}
	return d
}

// envelope describes the fields of a manifest in YAML or JSON.
const envelope = "a manifest has kind, scope, name and spec"

// fromKubernetes reports a manifest of Kubernetes: it has apiVersion and kind, and its name is in metadata.
func fromKubernetes(src *source, n *node, f *faults) bool {
	version, kind := n.find("apiVersion"), n.find("kind")
	if version == nil || kind == nil || n.find("name") != nil {
		return false
	}
	next := suggest.ForeignKind(kind.value.text)
	if next == "" {
		next = envelope + ": `tend init` writes a first one"
	}
	f.at(src, version.at, next, "this is a manifest of Kubernetes, not of Tend")
	return true
}

// word returns a field of the envelope that is a plain text.
func (d *draft) word(n *node, key string, f *faults) string {
	entry := n.find(key)
	if entry == nil || entry.value.kind == nullNode {
		f.at(d.src, n.at, envelope, "%s is missing", key)
		return ""
	}
	d.places[key] = entry.value.at
	if entry.value.kind == listNode || entry.value.kind == objectNode {
		f.at(d.src, entry.value.at, "", "%s is text, not %s", key, entry.value.kind)
		return ""
	}
	return entry.value.text
}

var metadataKeys = []string{
	"labels", "annotations", "uid", "generation", "revision", "stamps", "createdAt", "updatedAt",
	"deletedAt", "finalizers", "owners", "change", "trace", "fields",
}

// Bounds on an object's labels and annotations.
const (
	maxMetadataEntries = 256
	maxMetadataBytes   = 64 << 10
)

func (d *draft) metadata(entry *field, f *faults) {
	if entry == nil || entry.value.kind == nullNode {
		return
	}
	if entry.value.kind != objectNode {
		f.at(d.src, entry.value.at, "", "metadata is an object, not %s", entry.value.kind)
		return
	}
	for _, m := range entry.value.fields {
		if !slices.Contains(metadataKeys, m.key) {
			f.at(d.src, m.at, suggest.Question(m.key, metadataKeys), "metadata has no field %q", m.key)
		}
	}
	d.object.Metadata.Labels = d.table(entry.value, "labels", f)
	d.object.Metadata.Annotations = d.table(entry.value, "annotations", f)
	for key, tree := range d.table(entry.value, "stamps", f) { // the stamps that a client sets
		if (key == api.StampBuild || strings.HasPrefix(key, api.StampBuildOf)) && tree != "" {
			if d.object.Metadata.Stamps == nil {
				d.object.Metadata.Stamps = map[string]string{}
			}
			d.object.Metadata.Stamps[key] = tree
		}
	}
}

// nativeMetadata removes labels and annotations from a block. Kinds that are delivered to a cluster have neither in
// their specs, but need them: an annotation of an application sets what an operation may do.
func (d *draft) nativeMetadata(body *node, f *faults) {
	d.object.Metadata.Labels = d.table(body, "labels", f)
	d.object.Metadata.Annotations = d.table(body, "annotations", f)
	body.fields = slices.DeleteFunc(slices.Clone(body.fields),
		func(entry field) bool { return slices.Contains(metadataTables, entry.key) })
}

// metadataTables are the tables of an object's metadata that a block may hold.
var metadataTables = []string{"labels", "annotations"}

func (d *draft) table(n *node, key string, f *faults) map[string]string {
	entry := n.find(key)
	if entry == nil || entry.value.kind == nullNode {
		return nil
	}
	if entry.value.kind != objectNode || entry.value.block {
		next := ""
		if entry.value.block {
			next = fmt.Sprintf("write %s = { … }", key)
		}
		f.at(d.src, entry.value.at, next, "metadata.%s is a table of keys and values, not %s", key, kindOf(entry.value))
		return nil
	}
	out, size := map[string]string{}, 0
	for _, pair := range entry.value.fields {
		if pair.key == "" || pair.value.kind == listNode || pair.value.kind == objectNode || pair.value.kind == nullNode {
			f.at(d.src, pair.at, "", "metadata.%s: %q is text, not %s", key, pair.key, pair.value.kind)
			continue
		}
		out[pair.key] = pair.value.text
		size += len(pair.key) + len(pair.value.text)
	}
	if len(out) > maxMetadataEntries || size > maxMetadataBytes {
		f.at(d.src, entry.at, "", "metadata.%s holds more than %d entries or %d bytes", key,
			maxMetadataEntries, maxMetadataBytes)
	}
	return out
}
