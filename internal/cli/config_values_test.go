package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfigValues(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env, binary, word := file("env", "A=1\nB=2\n"), file("binary", "\xff\xfe"), file("word", "w\r\n")
	for name, tc := range map[string]struct {
		reason       string
		files, pairs []string
		want         map[string]string
		fault        string
	}{
		"an argument wins":   {"over a file", []string{env}, []string{"B=3"}, map[string]string{"A": "1", "B": "3"}, ""},
		"a file's content":   {"without its line end", nil, []string{"A=@" + word}, map[string]string{"A": "w"}, ""},
		"stdin":              {"as one value", nil, []string{"A=-"}, map[string]string{"A": "Z=26"}, ""},
		"a literal at sign":  {"is doubled", nil, []string{"A=@@x", "B=x@y"}, map[string]string{"A": "@x", "B": "x@y"}, ""},
		"named twice":        {"one of them would be lost", nil, []string{"A=1", "A=2"}, nil, "A is named twice"},
		"stdin twice":        {"the second would be empty", nil, []string{"A=-", "B=-"}, nil, "B: stdin is read already"},
		"stdin after a file": {"the same", []string{"-"}, []string{"B=@-"}, nil, "B: stdin is read already"},
		"bytes that are none": {"JSON would carry other ones", nil, []string{"A=@" + binary}, nil,
			"A: the value is not UTF-8 text"},
		"nothing":             {"there is nothing to do", nil, nil, nil, "nothing to set"},
		"no pair":             {"a key alone", nil, []string{"A"}, nil, `"A": want KEY=VALUE`},
		"a folder for a file": {"it says which key", nil, []string{"A=@" + dir}, nil, "A: read values from"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := (&app{streams: streams{in: strings.NewReader("Z=26\n")}}).values(t.Context(), tc.files, tc.pairs)
			if tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.fault)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %v\n%s", tc.reason, err, diff)
			}
		})
	}
}
