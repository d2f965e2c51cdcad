package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
)

// assetDigests is a field that plugins write into a spec: the stamps of its assets, which only Tend sets. It is
// removed.
const assetDigests = "_asset_digests"

// made is an object that a plugin wrote, with the plugin's own name for it if that has dots: the plugin searches for
// containers by that name.
type made struct {
	object api.Object
	dotted string
}

// objectsOf makes objects of the manifests a macro's plugin wrote: core kinds, in the macro's scope.
func (b *Broker) objectsOf(
	macro api.Object, p *plugin.Plugin, manifests []plugin.Manifest, result *api.MacroResult,
) ([]made, error) {
	probes, err := probesOf(macro.Spec)
	if err != nil {
		return nil, err
	}
	var out []made
	for i, manifest := range manifests {
		if manifest.Scope == "" && api.Kind(manifest.Kind).Info().Scope != api.ScopeNone {
			manifest.Scope = macro.Scope
		}
		if macro.Scope != "" && manifest.Scope != macro.Scope && api.Kind(manifest.Kind).Info().Scope != api.ScopeNone {
			return nil, foreign(p, fmt.Sprintf("manifests[%d] (%.40s %.80s/%.80s) is in another scope", i, manifest.Kind,
				manifest.Scope, manifest.Name), macro)
		}
		b.dropPassedOn(macro, &manifest, result)
		objects, err := b.objectOf(manifest, probes)
		if err != nil {
			return nil, &plugin.Error{Reason: plugin.Nonsense, Plugin: p.Folder(), Command: plugin.ExpandCommand, Err: err,
				Detail: fmt.Sprintf("manifests[%d] can't be used: %s", i, flat(err)),
				Next:   "report it to the plugin's author; nothing was stored"}
		}
		for _, object := range objects {
			object.Metadata.Labels, object.Metadata.Annotations = maps.Clone(macro.Metadata.Labels),
				maps.Clone(macro.Metadata.Annotations)
			out = append(out, made{object, manifest.Dotted})
		}
	}
	return out, nil
}

func foreign(p *plugin.Plugin, what string, macro api.Object) error {
	return &plugin.Error{Reason: plugin.Nonsense, Plugin: p.Folder(), Command: plugin.ExpandCommand,
		Detail: fmt.Sprintf("%s, and %s may only change the scope %s", what, macro.Ref(), macro.Scope),
		Next:   "report it to the plugin's author; nothing was stored"}
}

// probesOf returns the webhooks of a macro's probes: the user sets them, and they go to every workload of the macro.
func probesOf(spec json.RawMessage) (json.RawMessage, error) {
	var fields struct {
		OnProbe json.RawMessage `json:"on_probe"`
	}
	return fields.OnProbe, json.Unmarshal(spec, &fields)
}

// objectOf decodes one manifest as the API does: an app becomes two objects.
func (b *Broker) objectOf(manifest plugin.Manifest, probes json.RawMessage) ([]api.Object, error) {
	kind, err := api.ParseKind(manifest.Kind)
	if err != nil {
		return nil, fmt.Errorf("%w: a macro stands for core kinds", err)
	}
	if manifest.Name == "" {
		return nil, errors.New("it has no name")
	}
	var spec map[string]json.RawMessage
	if err := json.Unmarshal(manifest.Spec, &spec); err != nil || spec == nil {
		return nil, errors.New("its spec is not an object")
	}
	delete(spec, assetDigests)
	if len(probes) > 0 && (kind.HasSlots() || kind == api.KindApp) {
		spec["on_probe"] = probes
	}
	wire := map[string]any{"kind": kind, "name": manifest.Name, "spec": spec}
	if manifest.Scope != "" {
		wire["scope"] = manifest.Scope
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(wire); err != nil {
		return nil, err
	}
	return b.Decode(text.Bytes(), "application/json")
}

// dropPassedOn removes fields of the macro that its plugin copied into a manifest whose kind doesn't have them. A field
// that only the plugin wrote stays: it is an error of the plugin.
func (b *Broker) dropPassedOn(macro api.Object, manifest *plugin.Manifest, result *api.MacroResult) {
	kind, err := api.ParseKind(manifest.Kind)
	var written, spec map[string]json.RawMessage
	if err != nil || json.Unmarshal(macro.Spec, &written) != nil || json.Unmarshal(manifest.Spec, &spec) != nil {
		return // the fault is reported when the manifest is decoded
	}
	var dropped []string
	for field := range spec {
		if _, ours := written[field]; ours && field != assetDigests && !b.Knows(kind, field) {
			delete(spec, field)
			dropped = append(dropped, field)
		}
	}
	if len(dropped) == 0 {
		return
	}
	slices.Sort(dropped)
	result.Warnings = append(result.Warnings,
		fmt.Sprintf("%s of the block does nothing here: the plugin passes it on to a %s, which has no such field",
			strings.Join(dropped, ", "), kind))
	if raw, err := json.Marshal(spec); err == nil {
		manifest.Spec = raw
	}
}

// flat returns an error on one line.
func flat(err error) string {
	return string(bytes.Join(bytes.Fields([]byte(err.Error())), []byte(" ")))
}
