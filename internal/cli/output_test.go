package cli

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestYAMLOfEveryCharacter: a message of a container may have any, and what is printed is read back as it was.
func TestYAMLOfEveryCharacter(t *testing.T) {
	for r := rune(0); r < 1<<16; r++ {
		if r > 0x2100 && r < 0xfe00 {
			continue // letters, and halves of others
		}
		var out strings.Builder
		want := map[string]string{"message": "a" + string(r) + "b"}
		if err := writeYAML(&out, want); err != nil {
			t.Fatalf("%U: %v", r, err)
		}
		var got map[string]string
		if err := yaml.Unmarshal([]byte(out.String()), &got); err != nil || got["message"] != want["message"] {
			t.Errorf("%U: %q is read as %q: %v", r, out.String(), got["message"], err)
		}
	}
}
