package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoBytesBecomeOthers: JSON would write U+FFFD for bytes that are not UTF-8, so whatever file or variable they are
// in, the manifest is refused with the place.
func TestNoBytesBecomeOthers(t *testing.T) {
	const hcl = "deployment \"prod\" \"web\" {\n  image = \"app\"\n  FIELD\n}\n"
	const yaml = "kind: deployment\nscope: prod\nname: web\nmetadata: {labels: {a: LABEL}}\nspec: {image: app, env: {A: VALUE}}\n"
	in := func(text, word, value string) string {
		text = strings.ReplaceAll(text, word, value)
		return strings.NewReplacer("LABEL", "x", "VALUE", "x").Replace(text)
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"an env file": {map[string]string{"a.hcl": in(hcl, "FIELD", `env_file = [".env"]`), ".env": "A=1\nB=caf\xe9\n"},
			".env:2: name or value is not UTF-8 text"},
		"a variable in quotes":  {map[string]string{"a.hcl": in(hcl, "FIELD", `env = { A = "${V}" }`)}, "a.hcl:3:16: the value of ${V} is not UTF-8 text"},
		"a variable alone":      {map[string]string{"a.hcl": in(hcl, "FIELD", `env = { A = ${V} }`)}, "a.hcl:3:15: the value of ${V} is not UTF-8 text"},
		"a variable in YAML":    {map[string]string{"a.yaml": in(yaml, "VALUE", `"${V}"`)}, "a.yaml:5:30: the value of ${V} is not UTF-8 text"},
		"a variable in a label": {map[string]string{"a.yaml": in(yaml, "LABEL", `"${V}"`)}, "a.yaml:4:25: the value of ${V} is not UTF-8 text"},
		"HCL":                   {map[string]string{"a.hcl": in(hcl, "FIELD", "env = { A = \"\xe9\" }")}, "a.hcl:3:16: invalid character encoding"},
		"YAML":                  {map[string]string{"a.yaml": in(yaml, "VALUE", "\xe9")}, "not YAML: invalid"},
		"JSON":                  {map[string]string{"a.json": "{\"kind\": \"\xe9\"}"}, "a.json:1:11: these bytes are no text in UTF-8"},
		"a Procfile":            {map[string]string{"Procfile": "# \xe9\nweb: caf\xe9\n"}, "Procfile:2:1: the line is not UTF-8 text"},
		"an app.json": {map[string]string{"Procfile": "web: run\n",
			".tend/app.json": `{"scope": "prod", "ingress": {"web": {"host": "a.example.org", "location": {"path": "/${V}"}}}}`},
			"the value of ${V} is not UTF-8 text"},
	} {
		folder := t.TempDir()
		source := folder
		for file, text := range c.files {
			if file == Procfile {
				source = filepath.Join(folder, Procfile)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(folder, file), text)
		}
		result, err := Load(Options{Files: []string{source}, App: "prod", Image: "app",
			Lookup: func(name string) (string, bool) { return "\xff", name == "V" }})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q: %s", name, err, c.want, specsOf(result))
		}
	}
}

func specsOf(result Result) (out []string) {
	for _, object := range result.Objects {
		out = append(out, string(object.Spec))
	}
	return out
}

// TestFinishRefusesBytes: a text that came another way than through the parsers is refused where it becomes JSON.
func TestFinishRefusesBytes(t *testing.T) {
	for name, spec := range map[string]map[string]any{
		"a text": {"a": "\xff"}, "a key": {"\xff": "a"}, "in a list": {"a": []any{"x", map[string]any{"b": "\xff"}}},
	} {
		if err := (&draft{spec: spec}).finish(); err == nil || !strings.Contains(err.Error(), "not UTF-8 text") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
