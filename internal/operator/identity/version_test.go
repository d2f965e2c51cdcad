package identity

import "testing"

func TestSameVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		want, have string
		same       bool
	}{
		"none wanted": {"", "1.2.3", true}, "equal": {"1.2.3", "1.2.3", true}, "another": {"1.2.3", "1.2.4", false},
		"digest": {"1.2.3", "1.2.3+0a1b2c3d4e5f", true}, "v of the tag": {"v4.0.1", "4.0.1", true}, "v of the chart": {"4.0.1", "v4.0.1+0a1b2c3d4e5f", true},
		"v of both": {"v4.0.1", "v4.0.1", true}, "build": {"1.2.3+5", "1.2.3+0a1b2c3d4e5f", true}, "build of a repository": {"1.2.3+5", "1.2.3+5", true},
		"pre-release": {"1.2.3-rc.1", "1.2.3", false}, "nothing reported": {"1.2.3", "", false},
	} {
		if got := SameVersion(tc.want, tc.have); got != tc.same {
			t.Errorf("%s: %q and %q: %v", name, tc.want, tc.have, got)
		}
	}
}
