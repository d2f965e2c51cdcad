package cli

import (
	"strings"
	"testing"
)

// TestReadSmall: a file that a flag names becomes text in JSON, which would change other bytes.
func TestReadSmall(t *testing.T) {
	for text, want := range map[string]string{
		"s3cret\n": "", "\xff\xfes3cret": "stdin is not UTF-8 text", strings.Repeat("x", maxSecretFile+1): "larger than",
	} {
		got, err := (&app{streams: streams{in: strings.NewReader(text)}}).readSmall("-")
		if want == "" && (err != nil || got != text) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.20q: %.20q, %v, want %q", text, got, err, want)
		}
	}
}
