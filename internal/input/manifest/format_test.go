package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFormat(t *testing.T) {
	for name, c := range map[string]struct{ reason, text, want string }{
		"columns": {"= signs stand below each other", "deployment \"prod\" \"web\" {\nimage=\"web:1\"\n    replicas = 3\n}\n",
			"deployment \"prod\" \"web\" {\n  image    = \"web:1\"\n  replicas = 3\n}\n"},
		"defaults": {"the content of a variable isn't an expression", "a = \"${IMG:-web:1}-${B}\" # c\nbcd=${N:-2}\n",
			"a   = \"${IMG:-web:1}-${B}\" # c\nbcd = ${N:-2}\n"},
		"escapes":  {"neither are literal characters", "a=\"$${HOME:-x}\"\n", "a = \"$${HOME:-x}\"\n"},
		"heredocs": {"nor the lines of a text", "a= <<E\n  x=${Y:-1}\n\ty = 2\nE\n", "a = <<E\n  x=${Y:-1}\n\ty = 2\nE\n"},
		"many": {"each goes back where it was", "a=[\"${A}\"" + strings.Repeat(",\"${LONG_NAME}\",\"${B}\"", 12) + "]\n",
			"a = [\"${A}\"" + strings.Repeat(", \"${LONG_NAME}\", \"${B}\"", 12) + "]\n"},
	} {
		if got := string(Format([]byte(c.text))); got != c.want {
			t.Errorf("%s: %s:\n%s", name, c.reason, cmp.Diff(c.want, got))
		}
	}
}

// TestTheExamplesAreLaidOut: they are as the command would leave them.
func TestTheExamplesAreLaidOut(t *testing.T) {
	layouts, err := Layouts(Options{Files: []string{"../../../examples"}})
	if err != nil || len(layouts) < 3 {
		t.Fatalf("%d files, %v", len(layouts), err)
	}
	for _, l := range layouts {
		if diff := cmp.Diff(string(l.Before), string(l.After)); diff != "" {
			t.Errorf("%s: tend fmt changes it:\n%s", l.Path, diff)
		}
	}
}

// TestFormatChangesSpaceAlone, and nothing that is laid out already.
func TestFormatChangesSpaceAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			"a", "=", " ", "\n", "\"x\"", "\"${A:-b c}\"", "${N}", "{", "}", "[", "]", ",", "# ${C}", "<<E\n y\nE\n", "$${",
			"tendfmt0", "\"", "1",
		})).Draw(t, "parts")
		text := strings.Join(parts, "")
		bare := func(text []byte) string { return strings.Join(strings.Fields(string(text)), "") }
		if laid := Format([]byte(text)); bare(laid) != bare([]byte(text)) {
			t.Fatalf("%q became %q", text, laid)
		}
	})
}
