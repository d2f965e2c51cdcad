package server_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"
)

type describedSchema struct {
	Required   []string
	Properties map[string]any
	OneOf      []struct {
		Ref   string `json:"$ref"`
		Items struct {
			Ref string `json:"$ref"`
		}
	}
}

// describedSchemas returns the schemas of the document.
func (w *world) describedSchemas() map[string]describedSchema {
	w.t.Helper()
	var document struct {
		Components struct{ Schemas map[string]describedSchema }
	}
	_, text := w.raw("GET", "/openapi.json", "", "")
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		w.t.Fatal(err)
	}
	return document.Components.Schemas
}

// TestTheDocumentRequiresWhatAnApplyRequires leaves each part of a manifest out once. The server refuses the manifest
// exactly where the document says that the part is required.
func TestTheDocumentRequiresWhatAnApplyRequires(t *testing.T) {
	w := newWorld(t)
	schemas := w.describedSchemas()
	takes := schemas["Manifests"].OneOf
	if len(takes) != 2 || takes[0].Ref != "#/components/schemas/Manifest" || takes[1].Items.Ref != takes[0].Ref {
		t.Fatalf("an apply takes %+v, want a manifest or a list of them", takes)
	}
	// A registry needs no scope; any other part is the same for all kinds.
	whole := map[string]any{"kind": "registry", "scope": "prod", "name": "ghcr", "metadata": map[string]any{},
		"spec": map[string]any{"url": "ghcr.io", "helper": "ghcr-login"}, "status": map[string]any{}}
	described := slices.Sorted(maps.Keys(schemas["Manifest"].Properties))
	if want := slices.Sorted(maps.Keys(whole)); !slices.Equal(described, want) {
		t.Fatalf("a manifest is described with %v, want %v", described, want)
	}
	for part := range whole {
		manifest := maps.Clone(whole)
		delete(manifest, part)
		text, err := json.Marshal(manifest)
		if err != nil {
			t.Fatal(err)
		}
		response, body := w.raw("POST", "/v1/apply?dry_run=1", "application/json", string(text))
		required := slices.Contains(schemas["Manifest"].Required, part)
		if refused := response.StatusCode != http.StatusOK; refused != required {
			t.Errorf("without %s: %s, %s; the document says required: %t", part, response.Status, body, required)
		}
	}
}

// TestWhatIsAnsweredCanBeApplied: an object as the API answers it is a manifest, with all metadata that the document
// describes.
func TestWhatIsAnsweredCanBeApplied(t *testing.T) {
	w := newWorld(t)
	w.apply("web", `{"image":"web:1"}`)
	_, answered := w.raw("GET", "/v1/objects/deployment/prod/web", "", "")
	var object map[string]any
	if err := json.Unmarshal([]byte(answered), &object); err != nil {
		t.Fatal(err)
	}
	schemas := w.describedSchemas()
	for part := range object {
		if schemas["Manifest"].Properties[part] == nil {
			t.Errorf("a manifest lacks %s", part)
		}
	}
	metadata := object["metadata"].(map[string]any)
	for part := range schemas["Metadata"].Properties {
		if metadata[part] == nil {
			metadata[part] = map[string]any{}
		}
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	response, body := w.raw("POST", "/v1/apply", "application/json", string(text))
	if response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", response.Status, body)
	}
}
