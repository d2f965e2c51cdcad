package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tend.dev/tend/api"
)

const oneDeployment = `{"kind":"deployment","scope":"prod","name":"web","spec":{"image":"nginx"}}`

func TestDecodeRefuses(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 8 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i+1, i+1,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	cases := map[string]struct{ reason, body, contentType, want string }{
		"type":       {"a body of another type", oneDeployment, "text/html", "content type is not"},
		"no type":    {"an empty type", oneDeployment, ";;", "content type is not"},
		"empty":      {"nothing at all", "", "application/json", "it ends too early"},
		"no objects": {"an empty list", "[]", "application/json", "no manifest found"},
		"empty yaml": {"a text of comments", "# nothing\n", "application/yaml", "no manifest found"},
		"twice": {"one name twice", "[" + oneDeployment + "," + oneDeployment + "]", "application/json",
			"declared twice, first at body:1:2"},
		"bomb":      {"aliases that unfold without end", bomb.String(), "application/yaml", "unfolds to more than"},
		"loop":      {"an alias within itself", "&a [*a]", "application/yaml", "nest deeper"},
		"deep json": {"brackets without end", strings.Repeat("[", 100_000), "application/json", "nest deeper"},
		"deep yaml": {"brackets without end", strings.Repeat("[", 100_000), "application/yaml", "not YAML"},
		"large": {"a body beyond the bound", strings.Repeat(" ", api.MaxApplyBytes+1),
			"application/json", "is too large"},
		"many": {"more objects than one commit holds", "[" +
			strings.Repeat(oneDeployment+",", api.MaxApplyObjects) + oneDeployment + "]", "application/json", "2001 objects"},
		"bad json": {"bytes that a decoder would replace", `{"kind":"` + "\xff\xfe" + `"}`,
			"application/json", "no text in UTF-8"},
		"half pair": {"half a character", `["a\ud800"]`, "application/json", "half of a"},
		"bad utf-8": {"bytes that are no text", "kind: \xff\xfe\n", "application/yaml", "not YAML"},
	}
	for name, c := range cases {
		objects, err := Decode([]byte(c.body), c.contentType)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s: got %d objects and %v, want %q", name, c.reason, len(objects), err, c.want)
		}
	}
}

// TestDecodeUnescapesYAML: what `tend get -o yaml` prints means the same in a body as in a file.
func TestDecodeUnescapesYAML(t *testing.T) {
	for body, want := range map[string]string{"$${HOME} $x": "${HOME} $x", "$$${config.a.b}": "$${config.a.b}",
		"${HOME}": "${HOME}"} {
		objects, err := Decode([]byte("kind: deployment\nscope: a\nname: b\nspec:\n  image: i\n  command: ['"+body+"']\n"),
			"application/yaml")
		if err != nil || !strings.Contains(string(objects[0].Spec), `["`+want+`"]`) {
			t.Errorf("%s: %v, %v", body, objects, err)
		}
	}
}

func TestDecodeLeavesVariablesAlone(t *testing.T) {
	for contentType, body := range map[string]string{
		"application/json": `{"kind":"deployment","scope":"a","name":"b","spec":{"command":["${HOME}"]}}`,
		"application/yaml": "kind: deployment\nscope: a\nname: b\nspec:\n  command: ['${HOME}']\n",
	} {
		objects, err := Decode([]byte(body), contentType)
		if err != nil || !strings.Contains(string(objects[0].Spec), "${HOME}") {
			t.Errorf("%s: a request's body is taken as it is: %v, %v", contentType, objects, err)
		}
	}
}

func TestSources(t *testing.T) {
	folder := t.TempDir()
	manifest := "deployment \"prod\" \"web\" {\n  image = \"nginx\"\n}\n"
	for _, name := range []string{"web.hcl", "plain", "big.hcl"} {
		text := manifest
		if name == "big.hcl" {
			text += strings.Repeat("#", 1<<10)
		}
		write(t, filepath.Join(folder, name), text)
	}
	write(t, filepath.Join(folder, "Procfile.dev"), "web: serve\n")
	cases := map[string]struct {
		reason  string
		options Options
		want    string
	}{
		"stdin": {"standard input with its language",
			Options{Files: []string{"-"}, Stdin: strings.NewReader(manifest), Format: "hcl"}, ""},
		"stdin unnamed": {"standard input doesn't say its language",
			Options{Files: []string{"-"}, Stdin: strings.NewReader(manifest)}, "add --format"},
		"stdin other": {"a language that isn't one", Options{Files: []string{"-"}, Format: "toml"},
			`format "toml" is not`},
		"no suffix": {"a name is tried with each ending", Options{Files: []string{filepath.Join(folder, "web")}}, ""},
		"named twice": {"a file named twice is read once",
			Options{Files: []string{filepath.Join(folder, "web.hcl"), folder + "//web.hcl"}}, ""},
		"unknown": {"a file that doesn't say its language", Options{Files: []string{filepath.Join(folder, "plain")}},
			"its name doesn't show its language"},
		"unknown format": {"and the option that does",
			Options{Files: []string{filepath.Join(folder, "plain")}, Format: "hcl"}, ""},
		"procfile": {"a Procfile for one purpose",
			Options{Files: []string{filepath.Join(folder, "Procfile.dev")}, Image: "app:1"}, ""},
		"missing": {"a file that isn't there",
			Options{Files: []string{filepath.Join(folder, "nope")}}, "no such file"},
		"none": {"nothing named", Options{}, "name a file or a folder with -f"},
		"too large": {"a file beyond the bound",
			Options{Files: []string{filepath.Join(folder, "big.hcl")}, MaxBytes: 100}, "is too large: more than 100 bytes"},
		"stdin large": {"standard input beyond the bound",
			Options{Files: []string{"-"}, Stdin: strings.NewReader(manifest), Format: "hcl", MaxBytes: 10}, "is too large"},
	}
	for name, c := range cases {
		result, err := Load(c.options)
		switch {
		case c.want == "" && (err != nil || len(result.Objects) != 1 || len(result.Sources) != 1):
			t.Errorf("%s: %s: got %d objects, %v", name, c.reason, len(result.Objects), err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %s: got %v, want %q", name, c.reason, err, c.want)
		}
	}
}

// TestFaultsAreBounded: a file with a thousand faults says twenty and how many more.
func TestFaultsAreBounded(t *testing.T) {
	text := strings.Repeat("x = 1\n", 1) + "deployment \"a\" \"b\" {\n image = \"x\"\n" +
		strings.Repeat(" nope {\n }\n", 999) + "}\n"
	_, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader(text), Format: "hcl"})
	var faults *Error
	if !errors.As(err, &faults) || len(faults.List) != maxDiagnostics || faults.More != 1000-maxDiagnostics {
		t.Fatalf("got %v", err)
	}
	if !strings.HasSuffix(err.Error(), "and 980 more") || len(faults.Fields()) != maxDiagnostics {
		t.Errorf("the end of the list is %q", err.Error()[len(err.Error())-40:])
	}
}

// TestExplain: errors that a server found get their places in the files.
func TestExplain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.hcl")
	write(t, file, "deployment \"prod\" \"web\" {\n  image = \"nginx\"\n  ports = [\"80\", \"81\"]\n}\n")
	result, err := Load(Options{Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	got := result.Explain([]api.FieldError{
		{Object: "deployment/prod/web", Field: "ports[1]", Detail: "is taken"},
		{Object: "deployment/prod/web", Field: "strategy.order", Detail: "is odd"},
		{Object: "deployment/prod/other", Detail: "is unknown here"},
	})
	places := []string{got.List[0].Position.String(), got.List[1].Position.String(), got.List[2].Position.String()}
	want := []string{file + ":3:18", file + ":1:1", ""}
	for i := range want {
		if places[i] != want[i] {
			t.Errorf("fault %d is at %q, want %q", i, places[i], want[i])
		}
	}
}

// TestExplainWhatAServerOfAnEarlierVersionFound: it writes the scope of an object that has none as _.
func TestExplainWhatAServerOfAnEarlierVersionFound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "registry.hcl")
	write(t, file, "registry \"ghcr\" {\n  url = \"https://ghcr.io\"\n  helper = \"gcloud\"\n}\n"+
		"deployment \"prod\" \"web\" {\n  image = \"nginx\"\n}\n")
	result, err := Load(Options{Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"registry/ghcr": file + ":2:9 registry/ghcr", "registry/_/ghcr": file + ":2:9 registry/ghcr",
		"registry/prod/ghcr": " registry/prod/ghcr", "deployment/_/web": " deployment/_/web",
	} {
		found := result.Explain([]api.FieldError{{Object: address, Field: "url", Detail: "is taken"}}).List[0]
		if got := strings.TrimSpace(found.Position.String() + " " + found.Object); got != strings.TrimSpace(want) {
			t.Errorf("a fault in %s is at %q, want %q", address, got, want)
		}
	}
}

func TestLookupDefaultsToTheEnvironment(t *testing.T) {
	t.Setenv("TEND_TEST_IMAGE", "nginx:9")
	result, err := Load(Options{Files: []string{"-"}, Format: "hcl",
		Stdin: strings.NewReader("deployment \"a\" \"b\" {\n image = \"${TEND_TEST_IMAGE}\"\n}\n")})
	if err != nil || !strings.Contains(string(result.Objects[0].Spec), "nginx:9") {
		t.Errorf("got %v, %v", result.Objects, err)
	}
}

func TestHiddenAndLinkedFiles(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	write(t, filepath.Join(elsewhere, "web.hcl"), "deployment \"prod\" \"web\" {\n  image = \"nginx\"\n}\n")
	if err := os.Symlink(filepath.Join(elsewhere, "web.hcl"), filepath.Join(folder, "link.hcl")); err != nil {
		t.Fatal(err)
	}
	result, err := Load(Options{Files: []string{folder}})
	if err != nil || len(result.Objects) != 1 {
		t.Errorf("a link to a manifest is read: %v, %v", result.Sources, err)
	}
}

// TestWholePairsAreText: an escaped backslash before u, and a character that is written in two halves.
func TestWholePairsAreText(t *testing.T) {
	for _, text := range []string{`["\\ud800"]`, `["\ud83d\ude00"]`, `["\uD83D\uDE00é"]`, `["\u00e9\n"]`} {
		if at := invalidText([]byte(text)); at >= 0 {
			t.Errorf("%s: refused at %d", text, at)
		}
	}
}

// TestPipesAreNoFiles: a path in a manifest must be a file; reading a pipe without a writer would never end.
func TestPipesAreNoFiles(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"an asset": "asset \"prod\" \"a\" {\n  dev = file(\"pipe\")\n}\n",
		"env_file": "deployment \"prod\" \"web\" {\n  image = \"nginx\"\n  env_file = [\"pipe\"]\n}\n",
	} {
		path := filepath.Join(dir, "m.hcl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(Options{Files: []string{path}}); err == nil || !strings.Contains(err.Error(), "is not a file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
