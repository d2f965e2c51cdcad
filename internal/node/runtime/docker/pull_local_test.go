package docker

import (
	"testing"

	"github.com/distribution/reference"
)

func TestMissingTag(t *testing.T) {
	named, err := reference.ParseNormalizedNamed("kit:99")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		tags []string
		want string
	}{
		"none": {nil, ""},
		"one":  {[]string{"1"}, "no image kit:99 here (1 is); docker.io can't be reached"},
		"some": {[]string{"3", "2", "1"}, "no image kit:99 here (3, 2, 1 are); docker.io can't be reached"},
		"many": {[]string{"7", "6", "5", "4", "3", "2", "1"},
			"no image kit:99 here (7, 6, 5, 4, 3, … are); docker.io can't be reached"},
	} {
		if got := missingTag(named, tc.tags, "can't be reached"); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
