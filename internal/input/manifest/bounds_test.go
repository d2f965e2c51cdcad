package manifest

import (
	"os"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestNestingIsBounded: HCL's parser would overflow the stack, which nothing can recover from.
func TestNestingIsBounded(t *testing.T) {
	for _, piece := range []string{"-", "!", "1?", "(", "[", "{", "1+", "[for a in ", "\"${", "<<A\n${",
		"a {\n", "a(", "a[0]."} {
		text := "x = " + strings.Repeat(piece, 20_000)
		_, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader(text), Format: "hcl"})
		if err == nil || !strings.Contains(err.Error(), "nest too deep") {
			t.Errorf("%q without end: %.200v", piece, err)
		}
	}
	value := strings.Repeat("[", 20_000)
	_, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader("x = ${V}"), Format: "hcl",
		Lookup: func(string) (string, bool) { return value, true }})
	if err == nil || !strings.Contains(err.Error(), "the value of ${V}") {
		t.Errorf("a value that nests without end: %.200v", err)
	}
}

// TestNothingUsualIsTooDeep: usual manifests stay far below the bounds.
func TestNothingUsualIsTooDeep(t *testing.T) {
	var text strings.Builder
	text.WriteString("deployment \"prod\" \"web\" {\n  image = \"nginx\"\n  env = {\n")
	for range 5000 {
		text.WriteString("    # a comment\n    A" + strings.Repeat("x", text.Len()%7) + " = -1\n")
	}
	if over := beyondBounds([]byte(text.String() + "  }\n  command = [" + strings.Repeat("\"a\",\n", 5000) +
		"]\n  entrypoint = [<<EOT\n" + strings.Repeat("line ((( {{{ \n", 5000) + "EOT\n]\n}\n")); over != nil {
		t.Errorf("a long manifest is too much: %+v", *over)
	}
}

// TestTextsAreBounded: texts that would keep HCL's parser busy are refused, with the limit, the place and the next
// step.
func TestTextsAreBounded(t *testing.T) {
	heredoc := func(lines string) string {
		return "deployment \"prod\" \"web\" {\n  image = <<EOT\n" + lines + "EOT\n}\n"
	}
	value := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct{ text, want string }{
		"lines": {heredoc(strings.Repeat("line\n", maxPieces+1)),
			"<stdin>:10003:1: this text has more than 10000 lines, or parts between dollar signs"},
		"dollars": {heredoc(strings.Repeat("$a", maxPieces) + "\n"),
			"this text has more than 10000 lines, or parts between dollar signs"},
		"in quotes": {"x = \"" + strings.Repeat("$a", maxPieces) + "\"",
			"this text has more than 10000 lines, or parts between dollar signs"},
		"texts": {strings.Repeat(heredoc(strings.Repeat("line\n", maxPieces)), 11),
			"the texts of the file have more than 100000 lines"},
		"words": {strings.Repeat("a {}\n", maxTokens/4+1),
			"<stdin>:100001:1: the file has more than 400000 words and signs"},
		"bytes": {"#" + strings.Repeat(" ", maxHCL), "<stdin>:1:1: the file is longer than 4194304 bytes"},
		"values": {"x = \"${V}${V}${V}${V}\"",
			"with the values of its variables, the file is longer than 4194304 bytes"},
		"a loop":        {"x = [for a in [1, 2] : a]", "there are no loops in manifests"},
		"loops in text": {"x = \"%{ for a in [1, 2] }${a}%{ endfor }\"", "there are no loops in manifests"},
	} {
		_, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader(c.text), Format: "hcl",
			Lookup: func(string) (string, bool) { return value, true }})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.300v", name, err)
		}
	}
	if _, err := Load(Options{Files: []string{"-"},
		Stdin: strings.NewReader(heredoc(strings.Repeat("line $a\n", maxPieces/3))), Format: "hcl"}); err != nil &&
		strings.Contains(err.Error(), "more than") {
		t.Errorf("a long text: %.300v", err)
	}
}

// TestNumbersAreBounded: in each language and at each place, no number becomes another one, and none takes more memory
// than its text.
func TestNumbersAreBounded(t *testing.T) {
	for number, want := range map[string]string{
		"1e-1000000000": "too close to 0", "1e1000000000": "too large", "1e400": "too large", "1e-400": "too close to 0",
		strings.Repeat("9", 101): "longer than 100 characters", "0.5": "", "0e-1000": "", "1e21": "", "100000": "",
	} {
		for format, text := range map[string]string{
			"hcl":  "deployment \"prod\" \"web\" {\n image = \"app\"\n replicas = NUMBER\n}\n",
			"yaml": "{kind: deployment, scope: prod, name: web, spec: {image: app, replicas: NUMBER}}",
			"json": `{"kind": "deployment", "scope": "prod", "name": "web", "spec": {"image": "app", "replicas": NUMBER}}`,
		} {
			_, err := Load(Options{Files: []string{"-"},
				Stdin: strings.NewReader(strings.ReplaceAll(text, "NUMBER", number)), Format: format})
			refused := err != nil && (strings.Contains(err.Error(), want) ||
				format == "yaml" && strings.Contains(err.Error(), "is a whole number"))
			if want != "" && !refused || want == "" && err != nil && strings.Contains(err.Error(), "the number") {
				t.Errorf("%s in %s: %.200v, want %q", number, format, err, want)
			}
		}
	}
	for expression, want := range map[string]string{
		"1 % 0": "it divides by 0", "2 + 1 % (1 - 1)": "it divides by 0", "1 / 0": "it divides by 0",
		"1e300 * 1e300": "too large", "1e-300 * 1e-300": "too close to 0", "7 % 4": "",
	} {
		text := "deployment \"prod\" \"web\" {\n image = \"app\"\n replicas = " + expression + "\n}\n"
		_, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader(text), Format: "hcl"})
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) || want == "" && err != nil {
			t.Errorf("%s: %.200v, want %q", expression, err, want)
		}
	}
}

// TestDocsNameEveryField: each kind has a page, and each field of its spec has a row or a mention there, or on the page
// of deployments, which describes what the kinds share. A cron job's field may also be on the page of jobs.
func TestDocsNameEveryField(t *testing.T) {
	shared := page(t, "deployment")
	for _, kind := range api.KindsThat(declarable) {
		own := page(t, string(kind))
		if kind == api.KindCronJob {
			own += page(t, string(api.KindJob))
		}
		for _, p := range properties(kind.Info().Spec) {
			if !names(own, p.native) && !names(shared, p.native) {
				t.Errorf("docs/use/kinds/%s.md does not name %s", kind, p.native)
			}
		}
	}
}

func page(t *testing.T, kind string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/use/kinds/" + kind + ".md")
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// names reports whether a page mentions a field: in code, with what lies below it, or as a title.
func names(page, field string) bool {
	return strings.Contains(page, "`"+field+"`") || strings.Contains(page, "`"+field+".") ||
		strings.Contains(page, "`"+field+" ") || strings.Contains(page, "## "+field)
}

// TestSnippetControlsNothing: the snippet of a fault has no character that controls the terminal, so each character of
// the line takes one column, in its order.
func TestSnippetControlsNothing(t *testing.T) {
	at := newSource("a.hcl", "", []byte("a\x1b\u009b\u202e\u200b\u2028\t b"))
	want := "    1 | a\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\t b\n      |       \t ^"
	if got := at.snippet(span{len(at.text) - 1, len(at.text)}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
