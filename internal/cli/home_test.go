package cli

import (
	"os"
	"os/user"
	"testing"
)

// TestHomeIsRestored: Main runs with the home of the user database if the environment has none.
func TestHomeIsRestored(t *testing.T) {
	current, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range []string{"", "/elsewhere"} {
		t.Setenv("HOME", given)
		want := given
		if given == "" {
			want = current.HomeDir
		}
		Main(t.Context(), []string{"completion", "bash", "--help"})
		if got := os.Getenv("HOME"); got != want {
			t.Errorf("HOME=%q became %q, want %q", given, got, want)
		}
	}
}
