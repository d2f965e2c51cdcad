package manifest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

func TestParseDotenv(t *testing.T) {
	const pem = "-----BEGIN KEY-----\n  abc=\n-----END KEY-----\n"
	text := "\uFEFF# a comment\r\nA=1\r\n\nexport B = two words \nC=\"quoted \"\nD='it''s'\nE=\nKEY=\"" + pem + "\"\nF=x#y ${A} \\n\nJSON='{\"a\": 1}'\n"
	got, err := ParseDotenv(text)
	want := map[string]string{"A": "1", "B": "two words", "C": "quoted ", "D": "it''s", "E": "", "KEY": pem, "F": `x#y ${A} \n`, "JSON": `{"a": 1}`}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"A=1\nhunter2":         "2: want KEY=VALUE",
		"A=1\n\nB=\"hunter2\n": "3: the value's quote is not closed",
		"B='hunter2":           "1: the value's quote is not closed",
		"1A=hunter2":           `1: "1A" is no key`,
		"A=hunter2\x00":        "1: the value contains a NUL",
	} {
		_, err := ParseDotenv(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %q without the value", text, err, want)
		}
	}
}

// Any value without the quote comes back from between quotes as it was.
func TestDotenvRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringOf(rapid.RuneFrom([]rune("ab=# \n\t\\'${}é"))).Draw(t, "value")
		got, err := ParseDotenv("A=1\nB=\"" + value + "\"\nC=3\n")
		if err != nil || got["B"] != value || got["C"] != "3" || len(got) != 3 {
			t.Fatalf("%q came back as %q, %v", value, got, err)
		}
	})
}

// FuzzDotenv reads arbitrary .env files: every key is one that config takes, no value holds a NUL, and an error names a
// line of the text without what is in it.
func FuzzDotenv(f *testing.F) {
	for _, text := range []string{"A=1\r\nexport B = x\n", "C=\"a\nb\"\n# c\nD='it''s'", "\uFEFF=\n", "E='", "F=\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		env, err := ParseDotenv(text)
		if err != nil {
			line, _, _ := strings.Cut(err.Error(), ":")
			if n, bad := strconv.Atoi(line); bad != nil || n < 1 || n > strings.Count(text, "\n")+1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for name, value := range env {
			if err := api.CheckConfigKey(name); err != nil || strings.Contains(value, "\x00") {
				t.Fatalf("%q holds %q=%q (%v)", text, name, value, err)
			}
		}
	})
}
