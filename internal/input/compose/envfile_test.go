package compose

import (
	"maps"
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
