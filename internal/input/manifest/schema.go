package manifest

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of a manifest in YAML or JSON, for editors. It is made from the
// structs of api by schema_test.go, which fails when it is stale; docs/use/schema holds a copy.
func Schema() []byte { return append([]byte(nil), schema...) }
