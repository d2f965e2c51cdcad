package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefused changes the small document in one place. The generator must name the place, and print nothing.
func TestRefused(t *testing.T) {
	const (
		thing  = "#/components/schemas/Thing"
		things = "#/paths/~1things/get"
		post   = "#/paths/~1things/post"
		list   = things + "/responses/200/content"
	)
	for name, test := range map[string]struct {
		at, becomes string // a JSON pointer, and the value to put there; nil removes the value
		where, why  string // Default of where: at.
	}{
		"another version": {"#/openapi", `"3.0.3"`, "", "want a document of OpenAPI 3.1"},
		"another part":    {"#/webhooks", `{}`, "", `"webhooks" is not understood here`},
		"no title":        {"#/info/title", ``, "#/info", "title is missing"},
		"an API key": {"#/components/securitySchemes/token/type", `"apiKey"`,
			"#/components/securitySchemes/token", "only a bearer token"},
		"no type": {thing + "/properties/at/type", ``,
			thing + "/properties/at", "want type, $ref or oneOf, not only format"},
		"an unknown type": {thing + "/properties/at/type", `"date"`, "", `the type "date"`},
		"two types":       {thing + "/properties/at/type", `["string", "integer"]`, "", "want one type"},
		"an unknown format": {thing + "/properties/at/format", `"uuid"`,
			"", `the format "uuid" of a string`},
		"bytes in JSON":      {thing + "/properties/at/format", `"binary"`, "", `the format "binary"`},
		"an unknown keyword": {thing + "/properties/at/const", `"x"`, "", `"const" is not understood here`},
		"allOf": {thing + "/properties/at", `{"allOf": []}`,
			"", "want type, $ref or oneOf, not only allOf"},
		"more beside a reference": {thing + "/properties/level/type", `"string"`,
			"", `"type" is not understood here`},
		"a schema that isn't there": {thing + "/properties/level/$ref", `"#/components/schemas/No"`,
			"", "there is no schema No"},
		"another file": {thing + "/properties/level/$ref", `"other.json#/Level"`,
			"", "want a reference to"},
		"an empty enum": {"#/components/schemas/Level/enum", `[]`, "", "an enum without values"},
		"an enum of numbers": {"#/components/schemas/Level/enum", `[1]`,
			"#/components/schemas/Level/enum/0", "want a string"},
		"a list of anything": {thing + "/properties/tags/items", ``,
			thing + "/properties/tags", "items is missing"},
		"a required stranger": {thing + "/required/0", `"nome"`, "", `there is no property "nome"`},
		"keys of two types": {thing + "/additionalProperties", `{"type": "string"}`,
			"", "keys of another type"},
		"a name of the runtime":   {"#/components/schemas/Error", `{}`, "", "the name Error is taken"},
		"a name with a dot":       {"#/components/schemas/v1.Thing", `{}`, "", `"v1.Thing" is not a name`},
		"one operation twice":     {post + "/operationId", `"get-things"`, "", "the name getThings is taken"},
		"a parameter in a header": {things + "/parameters/0/in", `"header"`, "", `a parameter in "header"`},
		"a list as a parameter": {things + "/parameters/0/schema", `{"type": "array", "items": {"type": "string"}}`,
			"", "a parameter is a string"},
		"one parameter twice": {things + "/parameters/0/name", `"watch"`,
			things + "/parameters/2", "two parameters have the name watch"},
		"a parameter of no path": {things + "/parameters/0/in", `"path"`,
			things + "/parameters", "a parameter is not in the path"},
		"a path without parameter": {"#/paths/~1shell~1{kind}~1{name}/get/parameters/0", ``,
			"#/paths/~1shell~1{kind}~1{name}/get/parameters", "the path names {name}"},
		"an optional body": {post + "/requestBody/required", `false`,
			post + "/requestBody", "a body that may be left out"},
		"a form": {post + "/requestBody/content/application~1json", ``,
			post + "/requestBody/content", "a body in JSON"},
		"two kinds of text": {post + "/requestBody/content/text~1plain", `{"schema": {"type": "string"}}`,
			"", "a body in both"},
		"a redirect": {things + "/responses/302", `{"description": "elsewhere"}`,
			"", "the status 302"},
		"a response's header": {things + "/responses/200/headers", `{}`,
			"", `"headers" is not understood here`},
		"only events": {list + "/application~1jsonl", ``,
			list + "/text~1event-stream", "events are understood only beside"},
		"a table in text": {list + "/text~1csv", `{"schema": {"$ref": "` + thing + `"}}`,
			"", "an answer in text/csv"},
		"another answer": {things + "/responses/204", `{"description": "nothing"}`,
			"", "another kind of answer already"},
		"only errors": {things + "/responses/200", ``, things + "/responses", "no answer but errors"},
		"another problem": {things + "/responses/404/content/application~1problem+json/schema/$ref", `"` + thing + `"`,
			things + "/responses/404/content/application~1problem+json/schema", "another problem than Problem"},
		"an error that is anything": {"#/paths/~1ready/get/responses/default/content/text~1html", `{"schema": {"type": "string"}}`,
			"", "an answer without a status"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(nil, bytes.NewReader(changed(t, test.at, test.becomes)), &out)
			if test.where == "" {
				test.where = test.at
			}
			if err == nil || !strings.Contains(err.Error(), test.where+": ") || !strings.Contains(err.Error(), test.why) {
				t.Errorf("got %v, want %s: … %s", err, test.where, test.why)
			}
			if out.Len() > 0 {
				t.Error("it printed a client all the same")
			}
		})
	}
}

// changed returns the small document with another value at a JSON pointer.
func changed(t *testing.T, pointer, becomes string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "small.json"))
	if err != nil {
		t.Fatal(err)
	}
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	var value any
	if becomes != "" {
		if err := json.Unmarshal([]byte(becomes), &value); err != nil {
			t.Fatal(err)
		}
	}
	keys := strings.Split(strings.TrimPrefix(pointer, "#/"), "/")
	for i, key := range keys {
		keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
	}
	text, err = json.Marshal(replaced(root, keys, value))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// replaced returns a tree with another value at the path of keys, or without it if value is nil.
func replaced(tree any, keys []string, value any) any {
	if len(keys) == 0 {
		return value
	}
	switch tree := tree.(type) {
	case map[string]any:
		if tree[keys[0]] = replaced(tree[keys[0]], keys[1:], value); tree[keys[0]] == nil {
			delete(tree, keys[0])
		}
		return tree
	case []any:
		at := int(keys[0][0] - '0')
		if after := replaced(tree[at], keys[1:], value); after != nil {
			tree[at] = after
			return tree
		}
		return append(tree[:at:at], tree[at+1:]...)
	}
	return value
}
