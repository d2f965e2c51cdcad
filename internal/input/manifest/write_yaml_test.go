package manifest

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"tend.dev/tend/api"
)

// anyValue is a lookup that has a value for every variable.
func anyValue(string) (string, bool) { return "replaced", true }

// TestAnyTextIsTheSameInYAML: an apply of the output of `tend get -o yaml` stores the same texts, variables or not.
func TestAnyTextIsTheSameInYAML(t *testing.T) {
	printable := rapid.StringOf(rapid.RuneFrom(nil, unicode.L, unicode.N, unicode.P, unicode.S, unicode.Zs))
	text := rapid.OneOf(printable, rapid.StringMatching(`[$%{}aA."\\:\- \n]{0,14}`),
		rapid.StringMatching(`\$*\{(asset|ref|A)(\.[a-z.]{1,6}|:-[$A{}]{0,6})?\}`))
	rapid.Check(t, func(t *rapid.T) {
		key, value := text.Draw(t, "key"), text.Draw(t, "value")
		object := api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web",
			Metadata: api.Metadata{Labels: map[string]string{"k" + key: value}}}
		tree, err := ForYAML(object)
		if err != nil {
			t.Fatal(err)
		}
		written, err := yaml.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		var f faults
		read := parseYAML(newSource("x", "", written), anyValue, &f)
		if err := f.err(); err != nil || len(read) != 1 {
			t.Fatalf("%s\n%v", written, err)
		}
		label := read[0].find("metadata").value.find("labels").value.fields[0]
		if label.key != "k"+key || label.value.text != value {
			t.Fatalf("%q: %q is read as %q: %q from\n%s", key, value, label.key, label.value.text, written)
		}
	})
}

// TestAnObjectInYAMLReadsTheSame: with its variables escaped and its references as they are.
func TestAnObjectInYAMLReadsTheSame(t *testing.T) {
	spec := `{"command":["sh","-c","echo $${X} ${X:-y}"],"env":{"A":"${HOME}/x","B":"$${ref.deployment.api.host}",` +
		`"C":"${ref.deployment.api.host}"},"image":"nginx","replicas":3}`
	tree, err := ForYAML(api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web", Spec: json.RawMessage(spec)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "C: ${ref.deployment.api.host}") {
		t.Errorf("a reference doesn't stay as it is:\n%s", text)
	}
	loaded, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader(string(text)), Format: "yaml",
		Lookup: anyValue})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	if diff := cmp.Diff(spec, string(loaded.Objects[0].Spec)); diff != "" {
		t.Errorf("%s\n(-want +got):\n%s", text, diff)
	}
}
