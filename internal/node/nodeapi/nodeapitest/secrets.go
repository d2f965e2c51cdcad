package nodeapitest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// config stores a config value, encrypted.
func (w *World) config(key, value string) {
	w.t.Helper()
	encrypted, _ := sealer{}.Encrypt([]byte(value))
	w.Commit(records.NewTxn("test").Put(key, encrypted))
}

// buildSecrets: the node that builds an image gets the values that the build names, and no others.
func buildSecrets(t *testing.T, w *World, c nodeapi.Control) {
	if got, err := c.BuildSecrets(t.Context(), web); !errors.Is(err, node.ErrForbidden) || got != nil {
		t.Errorf("nothing is to be built: %v %v", got, err)
	}
	build := &api.ImageBuild{ID: "abc", Build: api.Build{Secrets: []string{"TOKEN", "SHARED"}}}
	w.Commit(records.NewTxn("test").Put(records.ImageKey(web),
		api.ImageRequest{Owner: web, Image: "prod-web:abc", Build: build}))
	w.config(records.ConfigAppPrefix(web.Scope, web.Name)+"TOKEN", "t0ken")
	w.config(records.ConfigAppPrefix(web.Scope, web.Name)+"OTHER", "no matter")
	if got, err := c.BuildSecrets(t.Context(), web); !errors.Is(err, node.ErrNoConfig) ||
		!strings.Contains(err.Error(), "SHARED") || len(got) > 0 {
		t.Errorf("a key without a value: %v %v", got, err)
	}
	w.config(records.ConfigScopePrefix(web.Scope)+"TOKEN", "of the scope")
	w.config(records.ConfigScopePrefix(web.Scope)+"SHARED", "sh4red")
	got, err := c.BuildSecrets(t.Context(), web)
	if diff := cmp.Diff(map[string]string{"TOKEN": "t0ken", "SHARED": "sh4red"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
