package server

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"tend.dev/tend/api"
)

// applied describes one object in the body of an apply; Server.Decode reads it. It accepts each part of an api.Object,
// so that clients can apply an object that the API answered.
type applied struct {
	Kind     api.Kind        `json:"kind"`
	Scope    string          `json:"scope,omitempty" doc:"assets, registries and macros of plugins need none"`
	Name     string          `json:"name"`
	Metadata api.Metadata    `json:"metadata,omitzero" doc:"labels and annotations; the server writes the rest"`
	Spec     json.RawMessage `json:"spec" doc:"the fields of the kind"`
	Status   json.RawMessage `json:"status,omitempty" doc:"ignored: the server writes it"`
}

// manifests returns the body of an apply: one manifest or a list, as JSON or YAML.
func (s *Server) manifests() map[string]*huma.Schema {
	schemas := s.api.OpenAPI().Components.Schemas
	schemas.Map()["Manifest"] = schemas.Schema(reflect.TypeFor[applied](), false, "")
	one, named := reference("Manifest"), reference("Manifests")
	schemas.Map()["Manifests"] = &huma.Schema{OneOf: []*huma.Schema{one, {Type: huma.TypeArray, Items: one}}}
	return map[string]*huma.Schema{"application/json": named, "application/yaml": named}
}

func reference(schema string) *huma.Schema {
	return &huma.Schema{Ref: "#/components/schemas/" + schema}
}
