package manifest

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

func TestParseDotenv(t *testing.T) {
	const pem = "-----BEGIN KEY-----\n  abc=\n-----END KEY-----\n"
	text := "\uFEFF# a comment\r\nA=1\r\n\nexport B = two words \nC=\"quoted \"\nD='it\"s'\nE=\nKEY=\"" + pem +
		"\"\nF=x#y ${A} \\n\nJSON='{\"a\": 1}'\n"
	got, err := ParseDotenv(text)
	want := map[string]string{"A": "1", "B": "two words", "C": "quoted ", "D": `it"s`, "E": "", "KEY": pem,
		"F": `x#y ${A} \n`, "JSON": `{"a": 1}`}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"A=1\nhunter2":         "2: want KEY=VALUE",
		"A=1\n\nB=\"hunter2\n": "3: the value's quote is not closed",
		"B='hunter2":           "1: the value's quote is not closed",
		"1A=hunter2":           `1: "1A" is not a key`,
		"A=hunter2\x00":        "1: the value contains a NUL",
		"A=1\nB=hunter2\xff":   "2: name or value is not UTF-8 text",
		"B='\n\xe4hunter2'":    "1: name or value is not UTF-8 text",
		"\xff=hunter2":         "1: name or value is not UTF-8 text",

		"P=\"hunter2\":/bin\nS=\"x\"":   `1: text follows the closing "`,
		"A=\"x\"; export B=\"hunter2\"": `1: text follows the closing "`,
		"A=1\nB=\"x\" C=\"hunter2\"":    `2: text follows the closing "`,
		"D='hunter2''s'":                "1: text follows the closing '",
		"J=\"{\\\"hunter2\\\": 1}\"":    `1: text follows the closing "`,
		"J='{\n \"a\": \"hunter2's\"}'": "2: text follows the closing '",
		"A='hunter2'#x":                 "1: text follows the closing '",
	} {
		_, err := ParseDotenv(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %q without the value", text, err, want)
		}
	}
}

// TestDotenvAsCompose: a file has the same meaning as for Compose, as long as it contains nothing that Compose expands.
func TestDotenvAsCompose(t *testing.T) {
	for name, text := range map[string]string{
		"comment":          "A=1 # one\nB=2\n",
		"no comment":       "A=a#b\n",
		"empty, comment":   "A= # nothing\nB=1\n",
		"quoted":           "A=\"one # two\"\nB='three # four'\n",
		"quoted, comment":  "A=\"one\" # it's \"said\"\nB='two' # three\n",
		"lines":            "A=\"one\ntwo\"\nB=3\n",
		"lines, comment":   "A='one # in\n two' # out\nB=3\n",
		"exported":         "export A=1\nexport B = 2\n",
		"spaces":           "  A =  one two  \n",
		"empty":            "A=\nB=''\nC=\"\"\n",
		"equals":           "A=b=c==\n",
		"carriage returns": "A=1 # x\r\nB=\"a\"\r\n",
		"comments between": "# one\n\n   # two\nA=1\n",
		"quotes within":    "A=say \"hi\" # c\n",
	} {
		want, err := dotenv.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := ParseDotenv(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-Compose +Tend)\n%s", name, err, diff)
		}
		if file, err := parseEnv(text); err != nil || !maps.Equal(file, got) {
			t.Errorf("%s: an env_file means %v, %v", name, file, err)
		}
	}
}

// TestDotenvMeansNothingElse: whatever both Tend and Compose read, they read alike, in quotes too.
func TestDotenvMeansNothingElse(t *testing.T) {
	piece := rapid.SampledFrom([]string{"A=", "B=", "\nC=", "\n", `"`, "'", "x", " ", "#", " # ", ";", "export "})
	pieces := rapid.SliceOfN(piece, 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		text := "A=\"" + strings.Join(pieces.Draw(t, "value"), "") + "\"" + strings.Join(pieces.Draw(t, "behind"), "")
		want, refused := dotenv.Parse(strings.NewReader(text))
		got, err := ParseDotenv(text)
		if err != nil || refused != nil {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-Compose +Tend)\n%s", text, diff)
		}
	})
}

// Any value without the quote survives being quoted.
func TestDotenvRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringOf(rapid.RuneFrom([]rune("ab=# \n\t\\'${}é"))).Draw(t, "value")
		got, err := ParseDotenv("A=1\nB=\"" + value + "\"\nC=3\n")
		if err != nil || got["B"] != value || got["C"] != "3" || len(got) != 3 {
			t.Fatalf("%q came back as %q, %v", value, got, err)
		}
	})
}

// FuzzDotenv parses arbitrary .env files: config accepts every key, no value holds a NUL, and an error names a line of
// the text without its content.
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
