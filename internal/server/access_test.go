package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
)

// TestEveryRouteHasARule: a route without one would be for admins alone, and a rule without a route says nothing.
func TestEveryRouteHasARule(t *testing.T) {
	s := newWorld(t).server
	routes, rules := s.Routes(), s.Rules()
	for _, route := range routes {
		if _, known := rules[route]; !known {
			t.Errorf("internal/core/access has no rule for %s", route)
		}
	}
	for _, route := range slices.Sorted(maps.Keys(rules)) {
		if !slices.Contains(routes, route) {
			t.Errorf("internal/core/access has a rule for %s, which is not a route", route)
		}
	}
}

// The people of TestEveryRouteForEveryRole.
var people = []struct {
	name   string
	role   api.AccessRole
	life   time.Duration
	scopes []string
}{
	{"viewer", api.Viewer, time.Hour, []string{"prod"}},
	{"viewer-elsewhere", api.Viewer, time.Hour, []string{"bank", "shop"}},
	{"viewer-everywhere", api.Viewer, time.Hour, nil},
	{"deployer", api.Deployer, time.Hour, []string{"prod"}},
	{"deployer-elsewhere", api.Deployer, time.Hour, []string{"bank", "shop"}},
	{"deployer-everywhere", api.Deployer, time.Hour, nil},
	{"admin", api.Admin, time.Hour, nil},
	{"expired", api.Admin, -time.Second, nil},
	{"revoked", api.Admin, time.Hour, nil},
}

// The callers that may make a call about prod, in the order of the table above, without those with ended tokens.
const (
	anyRole      = "viewer viewer-elsewhere viewer-everywhere deployer deployer-elsewhere deployer-everywhere admin"
	readers      = "viewer viewer-everywhere deployer deployer-everywhere admin"
	wholeReaders = "viewer-everywhere deployer-everywhere admin"
	changers     = "deployer deployer-everywhere admin"
	senders      = "deployer deployer-elsewhere deployer-everywhere admin"
	admins       = "admin"
)

const ofWeb = "kind=deployment&scope=prod&name=web"

// calls are requests about prod, one or more for each route, with the callers that may make them. The list is
// independent of internal/core/access, and follows docs/operate/people.md.
var calls = []struct{ route, query, body, who string }{
	{"GET /v1/objects/{kind}", "scope=prod", "", readers},
	{"GET /v1/objects/{kind}", "", "", anyRole},
	{"GET /v1/objects/{kind}/{scope}/{name}", "", "", readers},
	{"GET /v1/events", "follow=0", "", anyRole},
	{"GET /v1/events", "follow=0&scope=prod", "", readers},
	{"GET /v1/pods", "", "", anyRole},
	{"GET /v1/pods", "scope=prod", "", readers},
	{"GET /v1/runs", "scope=prod", "", readers},
	{"GET /v1/stats", "scope=prod", "", readers},
	{"GET /v1/runs/{kind}/{scope}/{name}/{id}", "", "", readers},
	{"GET /v1/builds/{scope}/{name}/{id}/log", "", "", readers},
	{"GET /v1/releases", ofWeb, "", readers},
	{"GET /v1/deliveries", ofWeb, "", readers},
	{"GET /v1/logs", ofWeb, "", readers},
	{"GET /v1/logs", "kind=applicationinstance&scope=prod&name=shop", "", readers},
	{"GET /v1/config", "scope=prod&name=web", "", readers},
	{"GET /v1/config", "scope=prod&name=web&key=KEY", "", changers},
	{"GET /v1/pods/{pod}", "", "", readers},
	{"GET /v1/pods/{pod}/ready", "", "", readers},
	{"GET /v1/pods/{pod}/logs", "", "", readers},
	{"POST /v1/await", "", `{"objects":[{"kind":"deployment","scope":"prod","name":"web","revision":1}]}`, readers},
	{"POST /v1/apply", "", `{"kind":"deployment","scope":"prod","name":"new","spec":{"image":"a"}}`, changers},
	{"PUT /v1/blobs/{digest}", "", "x", senders},
	{"HEAD /v1/blobs/{digest}", "", "", senders},
	{"POST /v1/objects/{kind}/{scope}/{name}/build", "tree=x", "", changers},
	{"DELETE /v1/objects/{kind}/{scope}/{name}", "", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/scale", "replicas=3", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/restart", "", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/reconcile", "", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/rollback", "", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/rebootstrap", "ordinal=0", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/stop", "freeze=1", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/start", "", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/run-release", "", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/run", "", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/extend", "for=1h", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/end", "", "", changers},
	{"POST /v1/config", "scope=prod&name=web", `{"set":{"A":"1"}}`, changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/pause", "", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/resume", "", "", changers},
	{"POST /v1/objects/{kind}/{scope}/{name}/maintenance", "", "", changers},
	{"GET /v1/pods/{pod}/exec", "", "", changers},
	{"POST /v1/pods/{pod}/exec", "", "", changers},
	{"POST /v1/pods/{pod}/stop", "freeze=1", "", changers},
	{"POST /v1/pods/{pod}/start", "", "", changers},
	{"GET /v1/nodes", "", "", wholeReaders},
	{"GET /v1/servers", "", "", wholeReaders},
	{"GET /v1/plugins", "", "", wholeReaders},
	{"GET /v1/backup", "", "", wholeReaders},
	{"GET /v1/ingress/ca", "", "", anyRole},
	{"GET /openapi.json", "", "", anyRole},
	{"GET /openapi.yaml", "", "", anyRole},
	{"GET /openapi-3.0.json", "", "", anyRole},
	{"GET /openapi-3.0.yaml", "", "", anyRole},
	{"GET /v1/blobs/{digest}", "", "", admins},
	{"GET /v1/audit", "follow=0", "", admins},
	{"POST /v1/backup", "", "", admins},
	{"POST /v1/objects/{kind}/{scope}/{name}/poll", "", "", admins},
	{"POST /v1/objects/{kind}/{scope}/{name}/test", "", "", admins},
	{"POST /v1/resume", "", "", admins},
	{"POST /v1/rebalance", "scope=prod", "", admins},
	{"GET /v1/tokens", "", "", admins},
	{"POST /v1/tokens", "", `{"name":"mine","role":"admin"}`, admins},
	{"DELETE /v1/tokens/{name}", "", "", admins},
	{"GET /v1/system/disk", "", "", wholeReaders},
	{"POST /v1/system/prune", "dry_run=true", "", admins},
	{"GET /v1/nodes/tokens", "", "", admins},
	{"POST /v1/nodes/tokens", "", `{}`, admins},
	{"DELETE /v1/nodes/tokens/{id}", "", "", admins},
	{"POST /v1/objects/{kind}/{scope}/{name}/availability", "availability=drained", "", admins},
	{"POST /v1/objects/{kind}/{scope}/{name}/ingress", "serves=true", "", admins},
	{"POST /v1/objects/{kind}/{scope}/{name}/down", "", "", admins},
	{"DELETE /v1/nodes/{node}", "", "", admins},
	{"DELETE /v1/servers/{name}", "", "", admins},
	{"GET /v1/keys", "", "", admins},
	{"POST /v1/keys/{name}/rotate", "", "", admins},
	{"POST /v1/objects/{kind}/{scope}/{name}/token", "", "", admins},
	{"POST /v1/objects/{kind}/{scope}/{name}/approve", "", "", admins},
	{"POST /v1/plugins", "", `{}`, admins},
	{"DELETE /v1/plugins/{name}", "", "", admins},
	{"POST /plugin/{name}/{command}", "", `{}`, admins},
}

// openRoutes answer without a token on loopback.
var openRoutes = []string{"GET /healthz", "GET /readyz", "GET /version", "GET /metrics"}

var place = strings.NewReplacer("{kind}", "deployment", "{scope}", "prod", "{name}", "web", "{id}", "x",
	"{pod}", "prod-web.aaaaaaaa",
	"{digest}", "sha256:"+strings.Repeat("0", 64), "{node}", "n1", "{command}", "do")

// TestEveryRouteForEveryRole makes each call as each person. Who may not gets 403, whose token has ended 401, and then
// nothing is stored.
func TestEveryRouteForEveryRole(t *testing.T) {
	tried := slices.Clone(openRoutes)
	for i, call := range calls {
		tried = append(tried, call.route)
		t.Run(fmt.Sprint(i, " ", call.route, " ", call.query), func(t *testing.T) {
			w := newWorld(t, func(o *server.Options) { o.Paused = func() string { return "" } })
			w.apply("web", `{"image":"a:1"}`)
			w.running("web", "aaaaaaaa", true)
			tokens := map[string]string{"nobody": ""}
			for _, p := range people {
				tokens[p.name] = w.person(p.name, p.role, p.life, p.scopes...)
			}
			w.delete("/tokens/access/revoked")
			method, path, _ := strings.Cut(place.Replace(call.route), " ")
			for _, name := range slices.Sorted(maps.Keys(tokens)) {
				before := w.view.Revision()
				response, body := w.ask(tokens[name], method, path+"?"+call.query, call.body)
				may := slices.Contains(strings.Fields(call.who), name)
				ended := slices.Contains([]string{"nobody", "expired", "revoked"}, name)
				switch got := response.StatusCode; {
				case ended && got != http.StatusUnauthorized:
					t.Errorf("%s gets %d: %s", name, got, body)
				case !ended && may == (got == http.StatusForbidden) || !ended && got == http.StatusUnauthorized:
					t.Errorf("%s may: %v, and gets %d: %s", name, may, got, body)
				case !ended && !may && method != "HEAD":
					forbidden(t, response, body)
				}
				if now := w.view.Revision(); !may && now != before {
					t.Errorf("%s, refused, changed the store", name)
				}
			}
		})
	}
	for _, route := range newWorld(t).server.Routes() {
		if !slices.Contains(tried, route) {
			t.Errorf("%s is not tried", route)
		}
	}
}

// TestARefusalSaysWhatIsMissing: and how an admin gives it.
func TestARefusalSaysWhatIsMissing(t *testing.T) {
	w := newWorld(t)
	alice := w.person("alice", api.Viewer, time.Hour, "prod")
	response, body := w.ask(alice, "POST", "/v1/apply", `{"kind":"job","scope":"prod","name":"a","spec":{"image":"a"}}`)
	if p := forbidden(t, response, body); p.Detail != "alice is viewer of prod: apply needs deployer" ||
		p.Next != "ask an admin for a token: tend tokens add NAME --role deployer --scope prod" {
		t.Errorf("it is %s", body)
	}
	response, body = w.ask(alice, "GET", "/v1/logs?scope=bank&name=vault", "")
	if p := forbidden(t, response, body); p.Detail != "alice is viewer of prod: bank is another scope" ||
		p.Next != "ask an admin for a token: tend tokens add NAME --role viewer --scope bank" {
		t.Errorf("it is %s", body)
	}
}

// TestQueriesAreReadOnce: the decision about a call and its handler read the same query, however it is written.
func TestQueriesAreReadOnce(t *testing.T) {
	w := newWorld(t)
	vault := deployment("vault", `{"image":"a:1"}`)
	vault.Scope = "bank"
	if _, err := w.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{vault}}); err != nil {
		t.Fatal(err)
	}
	w.apply("web", `{"image":"a:1"}`)
	carol := w.person("carol", api.Deployer, time.Hour, "prod")
	for _, query := range []string{
		"scope=prod&scope=bank&name=vault", "scope=bank&scope=prod&name=vault", "scope=prod;scope=bank&name=vault",
		"%73cope=bank&name=vault", "scope=&name=vault", "x&scope=bank&name=vault", "name=vault",
		"scope=prod&%73cope=bank&name=vault", "scope=bank&name=vault&scope", "scope%00=prod&scope=bank&name=vault",
	} {
		response, body := w.ask(carol, "GET", "/v1/releases?"+query, "")
		if response.StatusCode == http.StatusOK {
			t.Errorf("%s: %s", query, body)
		}
	}
	for _, path := range []string{"deployment/bank/vault", "-/bank/vault", "-/-/vault", "deployment/-/vault", "-/%62ank/vault", "-//vault"} {
		response, body := w.ask(carol, "POST", "/v1/objects/"+path+"/scale?scope=prod&replicas=2", "")
		if response.StatusCode == http.StatusOK {
			t.Errorf("%s: %s", path, body)
		}
		response, body = w.ask(carol, "POST", "/v1/objects/"+path+"/scale?replicas=2", "")
		if response.StatusCode == http.StatusOK {
			t.Errorf("%s: %s", path, body)
		}
	}
	read, err := w.client.Object(t.Context(), vault.Ref())
	if err != nil || read.Metadata.Generation != 1 {
		t.Errorf("the object of another scope is %+v, %v", read.Metadata, err)
	}
	if response, body := w.ask(carol, "POST", "/v1/objects/-/-/web/scale?replicas=2", ""); response.StatusCode != http.StatusOK {
		t.Errorf("in the only scope: %s", body)
	}
}
