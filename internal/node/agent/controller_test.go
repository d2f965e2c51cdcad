package agent

import (
	"context"
	"maps"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
)

// one is an agent's access to a single release.
type one struct {
	nodeapi.Assignments
	release node.Release
}

func (o one) Release(context.Context, api.Task) (node.Release, error) { return o.release, nil }

// A manifest that names another controller, of an older system for example, doesn't keep its containers from calling
// this server. What doesn't call back keeps what it says.
func TestTheCallbackURLIsOurs(t *testing.T) {
	declared := map[string]string{"VOODU_CONTROLLER_URL": "http://host.docker.internal:8686", "A": "1"}
	for name, tc := range map[string]struct {
		path, controller string
		want             map[string]string
	}{
		"calls back": {"/t/1", "http://ours",
			map[string]string{"VOODU_CONTROLLER_URL": "http://ours/t/1", "TEND_CONTROLLER_URL": "http://ours/t/1", "A": "1"}},
		"does not":    {"", "http://ours", declared},
		"no listener": {"/t/1", "", declared},
		"no other vars": {"/t/2", "http://ours",
			map[string]string{"VOODU_CONTROLLER_URL": "http://ours/t/2", "TEND_CONTROLLER_URL": "http://ours/t/2", "A": "1"}},
	} {
		r := newReleases(one{release: node.Release{ID: "v1", Env: maps.Clone(declared), CallbackPath: tc.path}},
			nil, tc.controller)
		got, err := r.of(t.Context(), api.Task{ID: "t1", Scope: "prod", Name: "cache", Release: "v1", Role: api.RoleMain})
		if err != nil || !maps.Equal(got.Env, tc.want) {
			t.Errorf("%s: %v, %v", name, got.Env, err)
		}
	}
}
