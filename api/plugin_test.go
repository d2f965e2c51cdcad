package api

import "testing"

func TestSplitVersion(t *testing.T) {
	for typed, want := range map[string]string{
		"acme/tend-redis@1.2.0": "acme/tend-redis 1.2.0", "acme/tend-redis@v1.2.0": "acme/tend-redis 1.2.0",
		"github.com/acme/redis@2": "github.com/acme/redis 2", "acme/tend-redis": "acme/tend-redis ",
		"git@host:acme/redis": "git@host:acme/redis ", "./a/b@1": "./a/b@1 ", "https://u@host/x": "https://u@host/x ",
	} {
		split := PluginSource{Repo: typed}.Split()
		if got := split.Repo + " " + split.Version; got != want {
			t.Errorf("%q is %q, want %q", typed, got, want)
		}
	}
	if got := (PluginSource{Repo: "acme/redis@1", Version: "2"}); got.Split() != got {
		t.Errorf("%+v", got.Split())
	}
}
