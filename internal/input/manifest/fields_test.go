package manifest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// The golden forms of fields lie in testdata/fields. `# kinds:` names the kinds a file is about; each line is tried
// with each of them, and must come to the same.
//
//	body => what is stored, or `error: ` and what is wrong
//	default field: what holds where it is left out
//
// A body stands between a block's braces; ⏎ is a new line. What the kind needs besides (prelude) is added, and not
// shown but for image. Add a line with nothing behind =>, then run `go test ./internal/input/manifest -run Fields
// -rewrite` and read what it wrote.
type fieldFile struct {
	name  string
	kinds []api.Kind
	lines []string
}

func fieldFiles(t *testing.T) []fieldFile {
	t.Helper()
	names, err := filepath.Glob("testdata/fields/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no fields: %v", err)
	}
	var files []fieldFile
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file := fieldFile{name: name, lines: strings.Split(strings.TrimRight(string(text), "\n"), "\n")}
		for _, line := range file.lines {
			if words, found := strings.CutPrefix(line, "# kinds: "); found {
				for word := range strings.FieldsSeq(words) {
					file.kinds = append(file.kinds, api.Kind(word))
				}
			}
		}
		if len(file.kinds) == 0 {
			t.Fatalf("%s says no kinds", name)
		}
		files = append(files, file)
	}
	return files
}

// cases returns the lines that hold a body, with their outcomes.
func (f fieldFile) cases() map[string]string {
	out := map[string]string{}
	for _, line := range f.lines {
		if input, want, isCase := strings.Cut(line, " =>"); isCase && !strings.HasPrefix(line, "#") {
			out[input] = strings.TrimSpace(want)
		}
	}
	return out
}

// TestFields: each line has the outcome after its arrow, in every kind of its file.
func TestFields(t *testing.T) {
	for _, file := range fieldFiles(t) {
		var out strings.Builder
		for _, line := range file.lines {
			input, want, isCase := strings.Cut(line, " =>")
			if strings.HasPrefix(line, "#") || !isCase {
				out.WriteString(line + "\n")
				continue
			}
			want = strings.TrimSpace(want)
			for i, kind := range file.kinds {
				got := outcomeOf(t, kind, input)
				if *rewrite && i == 0 {
					want = got
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s: %s (-want +got):\n%s", filepath.Base(file.name), kind, input, diff)
				}
			}
			out.WriteString(input + " => " + want + "\n")
		}
		if *rewrite {
			write(t, file.name, out.String())
		}
	}
}

// prelude lists what a kind needs beyond the field at hand: names of required fields, and their text.
var prelude = map[api.Kind][][2]string{
	api.KindDeployment:  {{"image", `"app"`}},
	api.KindApp:         {{"image", `"app"`}, {"host", `"app.example.org"`}},
	api.KindStatefulSet: {{"image", `"app"`}},
	api.KindJob:         {{"image", `"app"`}},
	api.KindCronJob:     {{"image", `"app"`}, {"schedule", `"@daily"`}},
	api.KindLab:         {{"image", `"app"`}, {"owner", `"ada@example.org"`}, {"duration", `"90m"`}},
	api.KindIngress:     {{"host", `"app.example.org"`}},
	api.KindNode:        {},
	api.KindSync:        {{"scopes", `["shop"]`}},
	api.KindRegistry:    {{"url", `"ghcr.io"`}, {"helper", `"secret"`}},
}

// outcomeOf returns the stored spec of an object with that body, or the error.
func outcomeOf(t *testing.T, kind api.Kind, body string) string {
	t.Helper()
	var added []string
	for _, need := range prelude[kind] {
		if needs(body, need[0]) {
			body += " ⏎ " + need[0] + " = " + need[1]
			added = append(added, need[0])
		}
	}
	objects, err := loadBody(kind, strings.ReplaceAll(body, "⏎", "\n"))
	if err != nil {
		return strings.ReplaceAll(faultsOf(t, err), string(kind)+"/", "KIND/")
	}
	var parts []string
	for _, object := range objects {
		if spec := without(t, object.Spec, added); spec != "{}" {
			parts = append(parts, spec)
		}
	}
	if len(parts) == 2 && parts[0] == `{"image":"app"}` {
		parts = parts[1:] // the deployment of an app whose line is about its ingress
	}
	return strings.Join(parts, " + ")
}

// needs reports whether the body lacks a required field and its alternatives.
func needs(body, name string) bool {
	return !givesField(body, name) && (name != "host" || !givesField(body, "listen"))
}

// givesField reports whether a line of the body sets the field.
func givesField(body, name string) bool {
	return slices.ContainsFunc(strings.Split(body, " ⏎ "), func(line string) bool {
		return strings.HasPrefix(line, name+" =") || strings.HasPrefix(line, name+" {")
	})
}

func loadBody(kind api.Kind, body string) ([]api.Object, error) {
	name := "web"
	if only := kind.Info().Only; only != "" {
		name = only
	}
	labels := ` "prod" "` + name + `"`
	if kind.Info().Scope == api.ScopeNone {
		labels = ` "` + name + `"`
	}
	text := string(kind) + labels + " {\n" + body + "\n}\n"
	result, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader(text), Format: "hcl", Lookup: none})
	return result.Objects, err
}

// without removes from a spec the fields that the prelude added, except the image, which the files show.
func without(t *testing.T, spec json.RawMessage, added []string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(spec, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range added {
		if name != "image" {
			delete(fields, name)
		}
	}
	raw, err := canonical(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// faultsOf returns the errors of a load, on one line.
func faultsOf(t *testing.T, err error) string {
	t.Helper()
	var faults *Error
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	var parts []string
	for _, d := range faults.List {
		part := d.Summary
		if d.Field != "" {
			part = d.Field + ": " + part
		}
		if d.Next != "" {
			part += " (" + d.Next + ")"
		}
		parts = append(parts, part)
	}
	return "error: " + strings.Join(parts, " | ")
}
