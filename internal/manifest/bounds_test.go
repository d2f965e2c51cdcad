package manifest

import (
	"os"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestNestingIsBounded: HCL's parser would overflow the stack, which nothing can recover from.
func TestNestingIsBounded(t *testing.T) {
	for _, piece := range []string{"-", "!", "1?", "(", "[", "{", "1+", "[for a in ", "\"${", "<<A\n${", "a {\n", "a(", "a[0]."} {
		text := "x = " + strings.Repeat(piece, 20_000)
		_, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader(text), Format: "hcl"})
		if err == nil || !strings.Contains(err.Error(), "nest too deep") {
			t.Errorf("%q without end: %.200v", piece, err)
		}
	}
	value := strings.Repeat("[", 20_000)
	_, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader("x = ${V}"), Format: "hcl", Lookup: func(string) (string, bool) { return value, true }})
	if err == nil || !strings.Contains(err.Error(), "the value of ${V}") {
		t.Errorf("a value that nests without end: %.200v", err)
	}
}

// TestNothingUsualIsTooDeep: what people write stays far below the bounds.
func TestNothingUsualIsTooDeep(t *testing.T) {
	var text strings.Builder
	text.WriteString("deployment \"prod\" \"web\" {\n  image = \"nginx\"\n  env = {\n")
	for range 5000 {
		text.WriteString("    # a comment\n    A" + strings.Repeat("x", text.Len()%7) + " = -1\n")
	}
	if at := tooDeep([]byte(text.String() + "  }\n  command = [" + strings.Repeat("\"a\",\n", 5000) + "]\n  entrypoint = [<<EOT\n" + strings.Repeat("line ((( {{{ \n", 5000) + "EOT\n]\n}\n")); at >= 0 {
		t.Errorf("a long manifest nests too deep at %d", at)
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
				t.Errorf("docs/kinds/%s.md does not name %s", kind, p.native)
			}
		}
	}
}

func page(t *testing.T, kind string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/kinds/" + kind + ".md")
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// names reports whether a page mentions a field: in code, with what lies below it, or as a title.
func names(page, field string) bool {
	return strings.Contains(page, "`"+field+"`") || strings.Contains(page, "`"+field+".") || strings.Contains(page, "`"+field+" ") || strings.Contains(page, "## "+field)
}
