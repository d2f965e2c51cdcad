package server_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var documentFile = flag.String("document", "", "a file to write the OpenAPI document to, for make test-openapi")

// describedOperation holds the parts of an operation that a client's generator reads.
type describedOperation struct {
	Parameters  []struct{ Name, In string }
	RequestBody *struct{ Content map[string]describedBody }
	Responses   map[string]struct{ Content map[string]describedBody }
}

type describedBody struct{ Schema map[string]any }

// TestEveryOperationIsDescribed: a generator finds the input, the answers and the errors of each operation.
func TestEveryOperationIsDescribed(t *testing.T) {
	w := newWorld(t)
	var document struct {
		Paths      map[string]map[string]describedOperation
		Components struct{ Schemas map[string]any }
	}
	_, text := w.raw("GET", "/openapi.json", "", "")
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	if *documentFile != "" {
		if err := os.WriteFile(*documentFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// These have no body: their path and query suffice.
	bare := []string{"/v1/backup", "/v1/resume"}
	for path, operations := range document.Paths {
		for method, o := range operations {
			name := strings.ToUpper(method) + " " + path
			inQuery := slices.ContainsFunc(o.Parameters,
				func(p struct{ Name, In string }) bool { return p.In == "query" || p.In == "path" })
			if method == "post" || method == "put" {
				if o.RequestBody == nil && !inQuery && !slices.Contains(bare, path) {
					t.Errorf("%s: what does it take?", name)
				}
				if o.RequestBody != nil && !haveSchemas(o.RequestBody.Content) {
					t.Errorf("%s: its body has no schema", name)
				}
			}
			answers := 0
			for status, answer := range o.Responses {
				switch {
				case status >= "400" || status == "default":
					if status != "503" && answer.Content["application/problem+json"].Schema == nil {
						t.Errorf("%s: %s is not a problem", name, status)
					}
				case status == "204" || status == "101" || method == "head":
					answers++
				case haveSchemas(answer.Content):
					answers++
				}
			}
			if answers == 0 || len(o.Responses) == answers {
				t.Errorf("%s: it answers %v", name, slices.Sorted(maps.Keys(o.Responses)))
			}
		}
	}
	for _, reference := range strings.Split(text, `"$ref":"#/components/schemas/`)[1:] {
		if name, _, _ := strings.Cut(reference, `"`); document.Components.Schemas[name] == nil {
			t.Errorf("nothing describes the schema %s", name)
		}
	}
}

// TestFailedCommandsAreDescribed: the document has each status and form in which a plugin's command fails.
func TestFailedCommandsAreDescribed(t *testing.T) {
	w, _ := newPluginWorld(t, map[string]string{"kv/bin/set": "exit 1"})
	var document struct {
		Paths map[string]map[string]describedOperation
	}
	_, text := w.raw("GET", "/openapi.json", "", "")
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	described := document.Paths["/plugin/{name}/{command}"]["post"].Responses
	for path, body := range map[string]string{
		"/plugin/none/set": `{"args":[]}`, "/plugin/kv/none": `{"args":[]}`, "/plugin/kv/set": `{"args":[]}`,
		"/plugin/kv/set?":  "[",
		"/plugin/kv/set?a": `{"args":["` + strings.Repeat("x", 1<<20) + `"]}`,
	} {
		response, answer := w.raw("POST", path, "application/json", body)
		form := response.Header.Get("Content-Type")
		content, known := described[strconv.Itoa(response.StatusCode)]
		if response.StatusCode < 400 || !known || content.Content[form].Schema == nil {
			t.Errorf("%s: %s in %s is not described: %s", path, response.Status, form, answer)
		}
	}
}

func haveSchemas(content map[string]describedBody) bool {
	for _, body := range content {
		if len(body.Schema) == 0 {
			return false
		}
	}
	return len(content) > 0
}
