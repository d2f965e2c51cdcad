package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

func reload(t interface{ Fatalf(string, ...any) }, text []byte) []api.Object {
	result, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader(string(text)), Format: "hcl", Lookup: none})
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return result.Objects
}

// TestWrittenFieldsReadTheSame: each accepted form of each field, written and read again, is the same object.
func TestWrittenFieldsReadTheSame(t *testing.T) {
	written := 0
	for _, file := range fieldFiles(t) {
		for body, outcome := range file.cases() {
			if strings.HasPrefix(outcome, "error: ") {
				continue
			}
			for _, kind := range file.kinds {
				for _, object := range mustLoadBody(t, kind, body) {
					if object.Kind == api.KindAsset {
						continue // its files are written as paths, not as their content
					}
					text, err := Write([]Section{{Object: object}})
					if err != nil {
						t.Fatal(err)
					}
					written++
					if diff := cmp.Diff(string(object.Spec), string(reload(t, text)[0].Spec)); diff != "" {
						t.Errorf("%s: %s (-want +got):\n%s", kind, text, diff)
					}
				}
			}
		}
	}
	if written < 100 {
		t.Errorf("only %d forms were written", written)
	}
}

// TestAnyTextReadsTheSame: any text survives being written and read.
func TestAnyTextReadsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := norm.NFC.String(strings.ReplaceAll(rapid.OneOf(
			rapid.String(), rapid.StringMatching(`[$%{}a."\\\n]{0,12}`),
			rapid.StringMatching(`\$*\{(asset|ref|x)\.[a-z.]{1,6}\}`),
		).Draw(t, "text"), "\x00", ""))
		if got, written := reread(t, text); got != text {
			t.Fatalf("%q was written as\n%s\nand read as %q", text, written, got)
		}
	})
}

// TestAnyDocumentReadsTheSame: any text of an asset survives being written and read, also one with the word that ends a
// heredoc.
func TestAnyDocumentReadsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := norm.NFC.String(strings.ReplaceAll(rapid.OneOf(
			rapid.StringMatching(`([ \t]?(EOT|<<EOT|[$%{}a."\\])?[ \t]?\n){2,5}`),
			rapid.Custom(func(t *rapid.T) string { return rapid.String().Draw(t, "line") + "\n\n" }),
		).Draw(t, "text"), "\x00", ""))
		spec, err := json.Marshal(map[string]any{"files": map[string]string{"a": text}})
		if err != nil {
			t.Fatal(err)
		}
		written, err := Write([]Section{{Object: api.Object{Kind: api.KindAsset, Scope: "a", Name: "b", Spec: spec}}})
		if err != nil {
			t.Fatal(err)
		}
		read, err := api.DecodeStrict[api.AssetSpec](reload(t, written)[0].Spec)
		if err != nil || read.Files["a"].Text != text {
			t.Fatalf("%q was written as\n%s\nand read as %q, %v", text, written, read.Files["a"].Text, err)
		}
	})
}

// TestMalformedReferenceReadsTheSame: the formatter puts no spaces into text that only resembles a reference.
func TestMalformedReferenceReadsTheSame(t *testing.T) {
	for _, text := range []string{"${asset...a}", "${ref.a.1b.c}", "${config.a-.b}", "x ${asset.site.index} y"} {
		if got, written := reread(t, text); got != text {
			t.Errorf("%q was written as\n%s\nand read as %q", text, written, got)
		}
	}
}

// reread writes a text as a variable's value and reads it again. It returns the result and the file.
func reread(t rapid.TB, text string) (got any, written []byte) {
	t.Helper()
	spec, err := canonical(map[string]any{"image": "app", "env": map[string]string{"A": text}})
	if err != nil {
		t.Fatal(err)
	}
	written, err = Write([]Section{{Object: api.Object{Kind: api.KindDeployment, Scope: "a", Name: "b", Spec: spec}}})
	if err != nil {
		t.Fatal(err)
	}
	// References are the server's to judge; here it matters that the text is the same.
	var faults faults
	drafts := parse(newSource("text", "", written), formatHCL, none, &faults)
	if faults.count() > 0 {
		t.Fatalf("%q was written as\n%s\n%v", text, written, faults.err())
	}
	return envOf(drafts[0].spec)["A"], written
}

// TestWrite is the form people get to read.
func TestWrite(t *testing.T) {
	text, err := Write([]Section{
		{Comments: []string{"what it is for"},
			Object: api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web", Spec: json.RawMessage(
				`{"image":"web:1","replicas":2,"env":{"A":"1","B":"${asset.site.index}","C.D":"${HOME}"},"resources":{"limits":{"cpu":"1"}},` +
					`"inits":[{"name":"a","command":["x"]},{"name":"b","command":["y"]}]}`)}},
		{Object: api.Object{Kind: api.KindAsset, Scope: "prod", Name: "site", Spec: json.RawMessage(
			`{"files":{"index":"<html>\n</html>\n","logo":{"_source":"file","filename":"logo.png","content":""},"far":{"_source":"url","url":"https://x","timeout":"5s"}}}`)}},
		{Object: api.Object{Kind: api.KindRegistry, Scope: "_", Name: "hub",
			Spec: json.RawMessage(`{"url":"docker.io","helper":"secret"}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `# what it is for
deployment "prod" "web" {
  image = "web:1"
  env = {
    A     = "1"
    B     = "${asset.site.index}"
    "C.D" = "\u0024{HOME}"
  }
  replicas = 2

  resources {
    limits {
      cpu = "1"
    }
  }

  init "a" {
    command = ["x"]
  }

  init "b" {
    command = ["y"]
  }
}

asset "prod" "site" {
  far   = url("https://x", { timeout = "5s" })
  index = <<EOT
<html>
</html>
EOT
  logo  = file("logo.png")
}

registry "hub" {
  url    = "docker.io"
  helper = "secret"
}
`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Write([]Section{{Object: api.Object{Kind: api.KindJob,
		Metadata: api.Metadata{Labels: map[string]string{"a": "b"}}, Spec: json.RawMessage(`{}`)}}}); err == nil {
		t.Error("labels were lost in silence")
	}
	for key, wanted := range map[string]bool{"a-1": true, "_1": true, "true": true, "1a": false, "-a": false} {
		text, err := Write([]Section{{Object: api.Object{Kind: api.KindAsset, Scope: "prod", Name: "site",
			Spec: json.RawMessage(`{"files":{"` + key + `":"x"}}`)}}})
		if wanted != (err == nil) || wanted && !strings.Contains(string(reload(t, text)[0].Spec), `"`+key+`":"x"`) {
			t.Errorf("the key %s was written as %s, %v", key, text, err)
		}
	}
}
