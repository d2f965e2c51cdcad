package access_test

import (
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/access"
)

const change = "POST /v1/config"

// TestWithin: who acts for another one may do what both may.
func TestWithin(t *testing.T) {
	of := func(role api.AccessRole, scopes ...string) access.Grant {
		return access.Grant{Role: role, Scopes: scopes}
	}
	for name, tc := range map[string]struct{ own, other, want access.Grant }{
		"an admin":        {of(api.Admin), of(api.Deployer, "prod"), of(api.Deployer, "prod")},
		"a viewer":        {of(api.Viewer, "prod", "shop"), of(api.Deployer, "prod"), of(api.Viewer, "prod")},
		"of all scopes":   {of(api.Deployer), of(api.Deployer, "prod"), of(api.Deployer, "prod")},
		"for all scopes":  {of(api.Deployer, "shop"), of(api.Deployer), of(api.Deployer, "shop")},
		"no common scope": {of(api.Deployer, "shop"), of(api.Deployer, "prod"), of("")},
		"nobody":          {of(""), of(api.Deployer, "prod"), of("", "prod")},
	} {
		if got := tc.own.Within(tc.other); got.Role != tc.want.Role || !slices.Equal(got.Scopes, tc.want.Scopes) {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestAllow: the edges of the rules; internal/server tries every route for every role.
func TestAllow(t *testing.T) {
	viewer := access.Grant{Name: "alice", Role: api.Viewer, Scopes: []string{"prod"}}
	deployer := access.Grant{Name: "carol", Role: api.Deployer, Scopes: []string{"prod", "shop"}}
	everywhere := access.Grant{Name: "dora", Role: api.Deployer}
	for name, tc := range map[string]struct {
		grant access.Grant
		call  access.Call
		want  string
	}{
		"nobody": {access.Grant{}, access.Call{Route: "GET /healthz"}, "needs viewer"},
		"an unknown role": {access.Grant{Name: "x", Role: "root"},
			access.Call{Route: "GET /v1/nodes"}, "needs viewer"},
		"a route without a rule": {everywhere, access.Call{Route: "GET /v1/new"}, "GET /v1/new needs admin"},
		"the same for an admin":  {access.Grant{Role: api.Admin}, access.Call{Route: "GET /v1/new"}, ""},
		"reads in scope":         {viewer, access.Call{Route: "GET /v1/logs", Scope: "prod"}, ""},
		"reads in no scope":      {viewer, access.Call{Route: "GET /v1/logs"}, "needs the name of a scope"},
		"an unknown pod": {viewer, access.Call{Route: "GET /v1/pods/{pod}"},
			"there is no such pod in these scopes"},
		"a pod of another scope": {viewer, access.Call{Route: "GET /v1/pods/{pod}", Scope: "bank"},
			"there is no such pod in these scopes"},
		"keys of config": {viewer,
			access.Call{Route: "GET /v1/config", Scope: "prod", Parameters: []string{"scope"}}, ""},
		"values of config": {viewer,
			access.Call{Route: "GET /v1/config", Scope: "prod", Parameters: []string{"scope", "key"}},
			"config with values needs deployer"},
		"changes in the second": {deployer, access.Call{Route: change, Scope: "shop"}, ""},
		"changes elsewhere": {deployer, access.Call{Route: change, Scope: "bank"},
			"bank is another scope"},
		"what has no scope": {everywhere,
			access.Call{Route: "DELETE /v1/objects/{kind}/{scope}/{name}", Scope: api.Unscoped, Kind: api.KindNode},
			"needs admin"},
		"what lies in a cluster": {everywhere,
			access.Call{Route: "DELETE /v1/objects/{kind}/{scope}/{name}", Scope: "prod", Kind: api.KindOperation},
			"needs admin"},
		"any scope":                  {everywhere, access.Call{Route: change, Scope: "bank"}, ""},
		"the cluster, from a scope":  {viewer, access.Call{Route: "GET /v1/nodes"}, "nodes needs a token without scopes"},
		"the cluster, from all":      {everywhere, access.Call{Route: "GET /v1/nodes"}, ""},
		"tokens":                     {everywhere, access.Call{Route: "POST /v1/tokens"}, "tokens add needs admin"},
		"a list, of any scope":       {viewer, access.Call{Route: "GET /v1/pods"}, ""},
		"a list, of another's scope": {viewer, access.Call{Route: "GET /v1/pods", Scope: "bank"}, "bank is another scope"},
	} {
		refused := access.Rules.Allow(tc.grant, tc.call)
		switch {
		case (refused == nil) != (tc.want == ""):
			t.Errorf("%s: %v, want %q", name, refused, tc.want)
		case refused != nil && (!strings.Contains(refused.Detail, tc.want) || refused.Status != 403 || refused.Next == ""):
			t.Errorf("%s: %+v, want %q", name, refused, tc.want)
		}
	}
}
