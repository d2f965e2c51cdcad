package manifest

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"tend.dev/tend/api"
)

const publishedSchema = "../../docs/schema/manifest.schema.json"

// TestSchemaIsFresh: the schema says what the structs say. Rewrite with `go test ./internal/manifest -run Schema -rewrite`.
func TestSchemaIsFresh(t *testing.T) {
	want, err := json.MarshalIndent(generateSchema(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *rewrite {
		write(t, "schema.json", string(want))
		write(t, publishedSchema, string(want))
		return
	}
	published, err := os.ReadFile(publishedSchema)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, Schema()) || !bytes.Equal(want, published) {
		t.Error("the schema is stale: run go test ./internal/manifest -run Schema -rewrite")
	}
}

// TestSchemaAgrees: what the decoder accepts, the schema accepts; the shapes it refuses, the schema refuses.
func TestSchemaAgrees(t *testing.T) {
	resolved, err := generateSchema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		_, outcome, found := strings.Cut(line, " => ")
		if !found || strings.HasPrefix(line, "#") || strings.HasPrefix(outcome, "error: ") {
			continue
		}
		checked++
		if err := resolved.Validate(manifestOf(t, outcome)); err != nil {
			t.Errorf("%s is accepted and against the schema: %v", outcome, err)
		}
	}
	if checked < 50 {
		t.Errorf("only %d specs were checked", checked)
	}
	for _, spec := range []string{
		`{"image":"a","imagee":"b"}`, `{"image":["a"]}`, `{"replicas":"many"}`, `{"replicas":-1}`, `{"strategy":{"order":"sideways"}}`,
		`{"env":{"A":["1"]}}`, `{"ports":"80"}`, `{"inits":[{"command":["x"]}]}`, `{"restart":"sometimes"}`,
	} {
		if err := resolved.Validate(manifestOf(t, spec)); err == nil {
			t.Errorf("%s is accepted by the schema", spec)
		}
	}
}

func manifestOf(t *testing.T, spec string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(`{"kind":"deployment","scope":"prod","name":"web","spec":`+spec+`}`), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// generateSchema makes the schema of a manifest, or of a list of them.
func generateSchema(t *testing.T) *jsonschema.Schema {
	g := &schemaMaker{docs: fieldDocs(t), defs: map[string]*jsonschema.Schema{}}
	var kinds []any
	for kind := range specTypes {
		kinds = append(kinds, string(kind))
	}
	name := func(what string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", MaxLength: pointerTo(api.MaxNameBytes), Description: what}
	}
	table := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: scalarSchema()}
	}
	g.defs["manifest"] = &jsonschema.Schema{
		Type: "object", Required: []string{"kind", "scope", "name", "spec"}, AdditionalProperties: nothing(),
		Properties: map[string]*jsonschema.Schema{
			"kind":     {Enum: kinds, Description: "What is declared."},
			"scope":    name("The folder of names the object lives in, such as prod."),
			"name":     name("The object's name, unique in its scope."),
			"metadata": {Type: "object", Properties: map[string]*jsonschema.Schema{"labels": table(), "annotations": table()}},
			"status":   {Description: "Written by the server and left out here."},
			"spec":     g.of(reflect.TypeFor[api.DeploymentSpec](), ""),
		},
	}
	one := func() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/manifest"} }
	return &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "Tend manifest",
		Description: "A manifest in YAML or JSON. HCL has the same fields; see docs/manifest.md.",
		Defs:        g.defs, OneOf: []*jsonschema.Schema{one(), {Type: "array", Items: one()}},
	}
}

// schemaMaker makes a definition of each struct it meets.
type schemaMaker struct {
	docs map[string]string // Type.Field → its comment
	defs map[string]*jsonschema.Schema
}

func (g *schemaMaker) of(t reflect.Type, path string) *jsonschema.Schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		return g.structure(t, path)
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: g.of(t.Elem(), path)}
	case reflect.Map:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: scalarSchema()}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int:
		return &jsonschema.Schema{Type: "integer", Minimum: pointerTo(0.0)}
	}
	if t == reflect.TypeFor[api.Duration]() {
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`}
	}
	return &jsonschema.Schema{Types: []string{"string", "number"}}
}

func (g *schemaMaker) structure(t reflect.Type, path string) *jsonschema.Schema {
	name := t.Name()
	if _, known := g.defs[name]; !known {
		def := &jsonschema.Schema{Type: "object", AdditionalProperties: nothing(), Properties: map[string]*jsonschema.Schema{}}
		g.defs[name] = def
		for _, p := range properties(t) {
			here := join(path, p.name)
			s := g.of(p.of, here)
			s.Description = g.docs[name+"."+p.goName]
			if slices.Contains(laterFields, here) {
				s.Description = strings.TrimSpace("Not supported yet. " + s.Description)
			}
			if allowed := schemaEnums[here]; allowed != nil {
				s.Type, s.Types, s.Enum = "string", nil, allowed
			}
			if p.name == "restart" {
				s.Type, s.Types, s.Pattern = "string", nil, "^(no|always|unless-stopped|on-failure(:[0-9]+)?)$"
			}
			def.Properties[p.name] = s
			if p.required {
				def.Required = append(def.Required, p.name)
			}
		}
		slices.Sort(def.Required)
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

// laterFields are parsed and refused: editors should say so too.
var laterFields = []string{
	"env_from", "post_deploy", "depends_on", "build", "release", "autoscale", "probes", "on_deploy", "on_probe", "inits",
}

var schemaEnums = map[string][]any{
	"strategy.order":      {api.OrderStopFirst, api.OrderStartFirst},
	"strategy.on_failure": {api.OnFailurePause, api.OnFailureRollback, api.OnFailureContinue},
	"network_mode":        {"host", "none"},
}

func scalarSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "number", "boolean"}}
}

// nothing is the schema no value passes.
func nothing() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

func pointerTo[T any](v T) *T { return &v }

// fieldDocs reads the comments of api's fields: Type.Field → text.
func fieldDocs(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../api/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no api: %v", err)
	}
	docs := map[string]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if structure, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range structure.Fields.List {
					for _, name := range f.Names {
						docs[spec.Name.Name+"."+name.Name] = sentence(f.Doc.Text(), name.Name)
					}
				}
			}
			return true
		})
	}
	return docs
}

// sentence makes one line of a comment and takes the Go name from its beginning.
func sentence(text, name string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, verb := range []string{" is ", " are "} {
		if rest, found := strings.CutPrefix(text, name+verb); found {
			return strings.ToUpper(rest[:1]) + rest[1:]
		}
	}
	return text
}
