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

const publishedSchema = "../../../docs/use/schema/manifest.schema.json"

// TestSchemaIsFresh: the schema agrees with the structs. Rewrite with `go test ./internal/input/manifest -run Schema
// -rewrite`.
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
		t.Error("the schema is stale: run go test ./internal/input/manifest -run Schema -rewrite")
	}
}

// TestSchemaAgrees: the schema accepts every form that the decoder accepts, and refuses the shapes that it refuses.
func TestSchemaAgrees(t *testing.T) {
	resolved, err := generateSchema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range fieldFiles(t) {
		for body, outcome := range file.cases() {
			if strings.HasPrefix(outcome, "error: ") {
				continue
			}
			for _, kind := range file.kinds {
				for _, object := range mustLoadBody(t, kind, body) {
					if err := resolved.Validate(manifestOf(t, object.Kind, string(object.Spec))); err != nil {
						t.Errorf("%s: %s is accepted and against the schema: %v", kind, body, err)
					}
				}
			}
		}
	}
	for spec, kind := range map[string]api.Kind{
		`{"image":"a","imagee":"b"}`: api.KindDeployment, `{"image":["a"]}`: api.KindJob,
		`{"replicas":"many"}`: api.KindDeployment,
		`{"replicas":-1}`:     api.KindStatefulSet, `{"strategy":{"order":"sideways"}}`: api.KindDeployment,
		`{"env":{"A":["1"]}}`: api.KindCronJob, `{"ports":"80"}`: api.KindDeployment,
		`{"inits":[{"command":["x"]}]}`: api.KindDeployment,
		`{"restart":"sometimes"}`:       api.KindDeployment, `{"image":"a","replicas":1}`: api.KindJob,
		`{"image":"a"}`:                api.KindCronJob,
		`{"image":"a","autoscale":{}}`: api.KindStatefulSet, `{"image":"a","post_deploy":[]}`: api.KindStatefulSet,
		`{}`: api.KindIngress,
		`{"image":"a","schedule":"@daily","concurrency_policy":"Sometimes"}`: api.KindCronJob, `{"image": "a"}`: api.KindApp,
		`{"host":"a"}`: api.KindRegistry,
	} {
		if err := resolved.Validate(manifestOf(t, kind, spec)); err == nil {
			t.Errorf("%s: %s is accepted by the schema", kind, spec)
		}
	}
}

func mustLoadBody(t *testing.T, kind api.Kind, body string) []api.Object {
	t.Helper()
	for _, need := range prelude[kind] {
		if needs(body, need[0]) {
			body += " ⏎ " + need[0] + " = " + need[1]
		}
	}
	objects, err := loadBody(kind, strings.ReplaceAll(body, "⏎", "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func manifestOf(t *testing.T, kind api.Kind, spec string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(`{"kind":"`+string(kind)+`","scope":"prod","name":"web","spec":`+spec+`}`),
		&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// generateSchema makes the schema of a manifest, or of a list of them.
func generateSchema(t *testing.T) *jsonschema.Schema {
	g := &schemaMaker{docs: fieldDocs(t), defs: map[string]*jsonschema.Schema{}}
	name := func(what string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
			MaxLength: pointerTo(api.MaxNameBytes), Description: what}
	}
	table := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: scalarSchema()}
	}
	manifest := &jsonschema.Schema{
		Type: "object", Required: []string{"kind", "name", "spec"}, AdditionalProperties: nothing(),
		Properties: map[string]*jsonschema.Schema{
			"kind": {Description: "What is declared."},
			"scope": {Type: "string",
				Description: "The folder of names the object lives in, such as prod. Assets and registries need none."},
			"name":     name("The object's name, unique in its scope."),
			"metadata": {Type: "object", Properties: map[string]*jsonschema.Schema{"labels": table(), "annotations": table()}},
			"status":   {Description: "Written by the server and left out here."},
			"spec":     {Type: "object"},
		},
	}
	for _, kind := range api.KindsThat(declarable) {
		manifest.Properties["kind"].Enum = append(manifest.Properties["kind"].Enum, string(kind))
		manifest.AllOf = append(manifest.AllOf, g.ofKind(kind))
	}
	g.defs["manifest"] = manifest
	one := func() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/manifest"} }
	return &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", ID: "https://tend.dev/schema/manifest.json",
		Title:       "Tend manifest",
		Description: "A manifest in YAML or JSON. HCL has the same fields; see docs/use/manifest.md.",
		Defs:        g.defs, OneOf: []*jsonschema.Schema{one(), {Type: "array", Items: one()}},
	}
}

// ofKind returns the condition that sets the spec's schema for manifests of a kind.
func (g *schemaMaker) ofKind(kind api.Kind) *jsonschema.Schema {
	then := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"spec": g.of(kind.Info().Spec, "")}}
	if !scopeless(kind) {
		then.Required = []string{"scope"}
		then.Properties["scope"] = &jsonschema.Schema{Pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
			MaxLength: pointerTo(api.MaxNameBytes)}
	}
	return &jsonschema.Schema{
		If: &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"kind": {Const: pointerTo[any](string(kind))}},
			Required: []string{"kind"}},
		Then: then,
	}
}

// refusedFields are the kinds' fields that are refused although their struct has them.
var refusedFields = map[reflect.Type][]string{
	reflect.TypeFor[api.StatefulSetSpec](): {"autoscale", "post_deploy"},
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
		if t.Elem().Kind() == reflect.Interface {
			return &jsonschema.Schema{Type: "object"} // of any shape
		}
		if t.Elem() == reflect.TypeFor[api.AssetFile]() {
			return &jsonschema.Schema{Type: "object", AdditionalProperties: g.assetFile()}
		}
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
		def := &jsonschema.Schema{Type: "object", AdditionalProperties: nothing(),
			Properties: map[string]*jsonschema.Schema{}}
		g.defs[name] = def
		for _, p := range properties(t) {
			if slices.Contains(refusedFields[t], p.name) {
				continue
			}
			here := join(path, p.name)
			s := g.of(p.of, here)
			s.Description = g.docs[p.declaredIn+"."+p.goName]
			if slices.Contains(laterFields, here) {
				s.Description = strings.TrimSpace("Not supported yet. " + s.Description)
			}
			if allowed := schemaEnums[here]; allowed != nil {
				s.Type, s.Types, s.Enum = "string", nil, allowed
			}
			if strings.HasSuffix(here, ".remediation.retries") {
				s.Minimum = pointerTo(-1.0) // without end
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
		if t == reflect.TypeFor[api.IngressSpec]() {
			def.AnyOf = []*jsonschema.Schema{{Required: []string{"host"}}, {Required: []string{"listen"}}}
		}
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

// laterFields are parsed and refused: editors should report them too.
var laterFields = []string{}

var schemaEnums = map[string][]any{
	"concurrency_policy":  {api.ConcurrencyAllow, api.ConcurrencyForbid, api.ConcurrencyReplace},
	"tls.provider":        {"letsencrypt", "internal"},
	"lb.policy":           {"round_robin", "random", "least_conn", "ip_hash"},
	"strategy.order":      {api.OrderStopFirst, api.OrderStartFirst},
	"strategy.on_failure": {api.OnFailurePause, api.OnFailureRollback, api.OnFailureContinue},
	"network_mode":        {"host", "none", "bridge"},
	"driftDetection.mode": {"enabled", "warn", "disabled"},
	"valuesFrom.kind":     {"Secret", "ConfigMap"},
	"build.lang.name":     {"go", "nodejs", "node", "javascript", "bun", "python", "ruby", "rails"},
}

// assetFile returns the schema of one file: a text, or an object whose _source says which other fields it has.
func (g *schemaMaker) assetFile() *jsonschema.Schema {
	names := map[string]string{"_source": "Source", "path": "Path", "content": "Content", "digest": "Digest",
		"filename": "Filename",
		"url":      "URL", "timeout": "Timeout", "on_failure": "OnFailure"}
	forms := []*jsonschema.Schema{scalarSchema()}
	for _, source := range []string{api.AssetLocal, api.AssetURL} {
		form := &jsonschema.Schema{Type: "object", Required: []string{"_source"}, AdditionalProperties: nothing(),
			Properties: map[string]*jsonschema.Schema{"_source": {Enum: []any{source}}}}
		for _, name := range fieldsOfSource[source] {
			form.Properties[name] = &jsonschema.Schema{Type: "string", Description: g.docs["AssetFile."+names[name]]}
		}
		forms = append(forms, form)
	}
	forms[2].Required = append(forms[2].Required, "url")
	forms[2].Properties["on_failure"].Enum = []any{api.OnFailureStale, api.OnFailureError}
	return &jsonschema.Schema{OneOf: forms}
}

func scalarSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "number", "boolean"}}
}

// nothing returns the schema no value passes.
func nothing() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

func pointerTo[T any](v T) *T { return &v }

// fieldDocs reads the comments of api's fields: Type.Field → text.
func fieldDocs(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../../api/*.go")
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

// sentence joins a comment to one line and removes the Go name at its beginning.
func sentence(text, name string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, verb := range []string{" is ", " are "} {
		if rest, found := strings.CutPrefix(text, name+verb); found {
			return strings.ToUpper(rest[:1]) + rest[1:]
		}
	}
	return text
}
