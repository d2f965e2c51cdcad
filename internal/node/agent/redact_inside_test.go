package agent

import (
	"slices"
	"testing"
)

// TestConfigParts: a value that is percent-encoded in a variable is hidden as it stands there, and as it was.
func TestConfigParts(t *testing.T) {
	got := configParts("postgres://app:${config.db.PASSWORD|urlencode}@db/${config.NAME}",
		"postgres://app:p%40ss%20word@db/shop")
	if want := []string{"p%40ss%20word", "p@ss word", "shop"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
