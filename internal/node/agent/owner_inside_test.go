package agent

import "testing"

func TestParseOwner(t *testing.T) {
	for user, want := range map[string]owner{
		"": {0, 0}, "root": {0, 0}, "0": {0, 0}, "1000": {1000, 1000}, "1000:100": {1000, 100},
		"1000:root": {1000, 0}, "root:root": {0, 0},
	} {
		if got, err := parseOwner(user); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", user, got, err, want)
		}
	}
	for _, user := range []string{"app", "1000:staff", "-1", ":5:"} {
		if got, err := parseOwner(user); err == nil {
			t.Errorf("%q is %v", user, got)
		}
	}
}
