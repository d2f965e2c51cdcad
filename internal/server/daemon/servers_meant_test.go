package daemon

import (
	"testing"

	"tend.dev/tend/internal/store/etcd"
)

// TestServerMeant: a server that isn't there is answered with the one whose name is near.
func TestServerMeant(t *testing.T) {
	members := []etcd.Member{{Name: "tend-1"}, {Name: "tend-2"}, {Name: "backup"}}
	for name, want := range map[string]string{"bakcup": `; did you mean "backup"?`, "other": ""} {
		if got := serverMeant(name, members); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
