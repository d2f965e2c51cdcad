package api_test

import (
	"testing"

	"tend.dev/tend/api"
)

func TestActorName(t *testing.T) {
	for actor, want := range map[string]string{
		"ada (pid 4711)":                      "ada",
		"ada (pid 4711) through a plugin":     "ada",
		"uid 1000":                            "uid 1000",
		"alice (token from 10.0.0.7)":         "alice",
		"token from 10.0.0.7:41234":           "token from 10.0.0.7",
		"token from [fd00::7]:41234":          "token from fd00::7",
		"10.0.0.7:41234 through a plugin":     "10.0.0.7 through a plugin",
		"containers of deployment/prod/web":   "containers of deployment/prod/web",
		"sync:5":                              "sync:5",
		"a server's certificate, 10.0.0.7:80": "a server's certificate, 10.0.0.7",
		"":                                    "",
	} {
		if got := api.ActorName(actor); got != want {
			t.Errorf("%q is %q, want %q", actor, got, want)
		}
	}
}
