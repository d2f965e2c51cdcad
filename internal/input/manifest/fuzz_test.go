package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// seed adds every file of the golden archives that is in one of the languages.
func seed(f *testing.F, format string) {
	files, err := filepath.Glob("testdata/language/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if formatOf(part.Name) == format {
				f.Add(part.Data)
			}
		}
	}
}

// Whatever the text: no panic, an error with a place or objects that decode strictly and validate to themselves.
func FuzzHCL(f *testing.F)  { fuzzFormat(f, formatHCL) }
func FuzzYAML(f *testing.F) { fuzzFormat(f, formatYAML) }
func FuzzJSON(f *testing.F) { fuzzFormat(f, formatJSON) }

func fuzzFormat(f *testing.F, format string) {
	seed(f, format)
	f.Fuzz(func(t *testing.T, text []byte) {
		find := func(name string) (string, bool) { return "v\"$" + name, len(name) < 8 }
		var found faults
		for _, d := range parse(newSource("fuzz", "", text), format, find, &found) {
			if d.broken {
				continue
			}
			if err := d.finish(); err != nil {
				t.Fatalf("%s can't be written: %v", d.object.Ref(), err)
			}
			if !d.object.Kind.Core() {
				for _, fault := range api.ValidateMacro(d.object) {
					_ = d.diagnose(fault).String()
				}
				continue
			}
			read := json.NewDecoder(bytes.NewReader(d.object.Spec))
			read.DisallowUnknownFields()
			if err := read.Decode(reflect.New(d.object.Kind.Info().Spec).Interface()); err != nil {
				t.Fatalf("%s was decoded to what can't be read: %v", d.object.Spec, err)
			}
			for _, fault := range Validate(d.object) {
				_ = d.diagnose(fault).String()
			}
		}
		checkPlaces(t, text, found)
	})
}

// FuzzProcfile: any text leads to an error with a place, or to a deployment for each line.
func FuzzProcfile(f *testing.F) {
	for _, text := range []string{"web: bin/serve\n", "release: x\nweb: y", "# c\n\nWEB:a\r\nw_:b",
		":", "\uFEFFweb: web"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var found faults
		drafts := procfileDrafts(newSource("fuzz", "", text), procfileOptions{scope: "s", image: "app"}, &found)
		checkPlaces(t, text, found)
		if found.count() == 0 && len(drafts) == 0 {
			t.Fatalf("%q is neither wrong nor anything", text)
		}
		for _, d := range drafts {
			if err := d.finish(); err != nil {
				t.Fatal(err)
			}
			for _, fault := range Validate(d.object) {
				if fault.Field != "name" && !strings.HasPrefix(fault.Field, "command") &&
					!strings.HasPrefix(fault.Field, "release") {
					t.Fatalf("%q: %v", text, fault)
				}
			}
		}
	})
}

// checkPlaces: every fault lies in the text.
func checkPlaces(t *testing.T, text []byte, found faults) {
	t.Helper()
	lines := strings.Count(string(text), "\n") + 1
	for _, d := range found.list {
		if d.Line < 1 || d.Line > lines || d.Column < 1 || d.Summary == "" {
			t.Fatalf("a fault at %s of a text with %d lines: %s", d.Position, lines, d.Summary)
		}
	}
}

// FuzzSubstitution: any value stays inside the quotes around its variable.
func FuzzSubstitution(f *testing.F) {
	for _, value := range []string{"plain", `a"b`, "a\nb", "${x}", "%{if}", "$", "\\",
		"\u00e9\U0001F600", "EOT", "\nEOT\n"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if strings.ToValidUTF8(value, "") != value || strings.Contains(value, "\x00") {
			return // an environment holds no NUL, and HCL takes UTF-8 alone
		}
		const text = "deployment \"prod\" \"web\" {\n image = \"app\"\n env = {\n A = \"<${V}{>\"\n B = <<EOT\n<${V}{>\nEOT\n }\n}\n"
		result, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader(text), Format: "hcl",
			Lookup: func(string) (string, bool) { return value, true }})
		if err != nil {
			t.Fatalf("%q broke out: %v", value, err)
		}
		spec, err := api.DecodeStrict[api.DeploymentSpec](result.Objects[0].Spec)
		if err != nil {
			t.Fatal(err)
		}
		want := norm.NFC.String("<" + value + "{>") // as HCL composes characters
		if len(spec.Env) != 2 || spec.Env["A"] != want || spec.Env["B"] != want+"\n" {
			t.Fatalf("%q became %q", value, spec.Env)
		}
	})
}

// An unquoted variable accepts one whole literal, or nothing.
func TestBareValuesStayWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-z0-9"\[\], {}=\n#/*$<-]{0,12}`).Draw(t, "value")
		const text = "deployment \"prod\" \"web\" {\n image = \"app\"\n command = [${V}]\n}\n"
		result, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader(text), Format: "hcl",
			Lookup: func(string) (string, bool) { return value, true }})
		var faults *Error
		if err != nil {
			if !errors.As(err, &faults) {
				t.Fatalf("%q: %v", value, err)
			}
			return
		}
		spec, err := api.DecodeStrict[api.DeploymentSpec](result.Objects[0].Spec)
		if err != nil || len(spec.Command) > 1 || spec.Image != "app" {
			t.Fatalf("%q became %+v (%v)", value, spec, err)
		}
	})
}

// What the decoder writes, it reads back the same: canonical JSON is a fixed point.
func TestCanonicalIsAFixedPoint(t *testing.T) {
	raw := json.RawMessage(`{"kind":"deployment","scope":"a","name":"b","spec":{"image":"x","env":{"B":"<&>","A":"1"},"replicas":0}}`)
	first, err := Decode(raw, "application/json")
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Decode(again, "application/json; charset=utf-8")
	if err != nil || string(first[0].Spec) != string(second[0].Spec) {
		t.Errorf("%s became %s (%v)", first[0].Spec, second[0].Spec, err)
	}
}
