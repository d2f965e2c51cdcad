package compose

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRawVariables(t *testing.T) {
	environment := func(name string) (string, bool) { return "given", name == "KNOWN" }
	for text, tc := range map[string]struct {
		reason string
		want   map[string]string
		fault  bool
	}{
		"A=1\nB='x y' # z":     {"quotes and what looks like a comment are the value", map[string]string{"A": "1", "B": "'x y' # z"}, false},
		"\uFEFF \tA=b=c \n":    {"a mark of the encoding, space before the name, and space behind the value", map[string]string{"A": "b=c "}, false},
		"# A=1\n\n  # B=2\n":   {"comments and empty lines", map[string]string{}, false},
		"KNOWN\nUNKNOWN\nC=\n": {"names alone", map[string]string{"KNOWN": "given", "C": ""}, false},
		"A B=1":                {"a space in the name", nil, true},
		"=1":                   {"no name", nil, true},
	} {
		got := map[string]string{}
		err := rawVariables(strings.NewReader(text), "a.env", got, environment)
		if (err != nil) != tc.fault || !tc.fault && !maps.Equal(got, tc.want) {
			t.Errorf("%q: %s: %v, %v", text, tc.reason, got, err)
		}
	}
}

// TestNoBytesBecomeOthers: a value of a file that is not UTF-8 is left out and reported. A manifest would hold U+FFFD.
func TestNoBytesBecomeOthers(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"compose.yaml": "services:\n  web:\n    image: app:1\n    env_file: a.env\n    label_file: a.labels\n",
		"a.env":        "A=1\nB=caf\xe9\n", "a.labels": "c=1\nd=caf\xe9\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, text, report := imported(t, dir, Options{Files: []string{filepath.Join(dir, "compose.yaml")}, Dir: dir, From: dir})
	if strings.Contains(text, "caf") || !strings.Contains(text, `A = "1"`) || !strings.Contains(text, `c = "1"`) {
		t.Errorf("the manifest:\n%s", text)
	}
	if !strings.Contains(report, "name or value is not UTF-8 text") || !strings.Contains(report, "it is not UTF-8 text") {
		t.Errorf("the report:\n%s", report)
	}
}
