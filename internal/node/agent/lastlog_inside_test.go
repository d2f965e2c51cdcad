package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFitting(t *testing.T) {
	long := strings.Repeat("x", lastBytes)
	for name, tc := range map[string]struct {
		reason string
		lines  []string
		want   []string
	}{
		"short":        {"all of it", []string{"a", "b"}, []string{"a", "b"}},
		"at the limit": {"not a byte too much", []string{"a", long}, []string{long}},
		"one too long": {"its beginning says most", []string{"a", "y" + long}, []string{"y" + long[1:]}},
		"older ones":   {"the newest stay", []string{"a", long[1:], "b"}, []string{long[1:], "b"}},
	} {
		if diff := cmp.Diff(tc.want, fitting(tc.lines)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}
