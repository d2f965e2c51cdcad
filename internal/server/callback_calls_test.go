package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// newCallWorld returns a server with prod/web, and a function that gives the id of a plugin's call. Containers of a
// scope's cache make that call, and it ends with the returned function.
func newCallWorld(t *testing.T) (w *world, called func(scope string) (id string, end func())) {
	t.Helper()
	endpoint := newFifos(t)
	w, containers := newPluginWorld(t, map[string]string{"kv/bin/wait": strings.Replace(endpoint.printsURLAndWaits(),
		"$TEND_CONTROLLER_URL", "$TEND_PLUGIN_CALL", 1)}, func(o *server.Options) {
		o.Paused, o.HostPaths = func() string { return "" }, []string{"/srv/data"}
	})
	w.apply("web", `{"image":"a:1"}`)
	w.running("web", "aaaaaaaa", true)
	return w, func(scope string) (string, func()) {
		cache := made("cache", "u-"+scope, "kv/"+scope+"/cache")
		cache.Scope = scope
		w.put(records.ObjectKey(cache.Ref()), cache)
		done := make(chan struct{})
		go func() {
			defer close(done)
			ask(t, "POST", containers+server.ContainerToken(mac, cache)+"/plugin/kv/wait", `{"args":["`+scope+`/cache"]}`)
		}()
		return endpoint.open(t), func() { endpoint.shut(t); <-done }
	}
}

// within sends a request as a client that a plugin's call runs: over the socket, or with a token over loopback.
func (w *world) within(call, token, method, path, body string) (*http.Response, string) {
	w.t.Helper()
	at := "http://tend"
	if token != "" {
		at = w.http
	}
	request, err := http.NewRequestWithContext(w.t.Context(), method, at+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Tend-Plugin-Call", call)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return w.do(request)
}

// TestEveryRouteWithinACallOfContainers: a client of a plugin that containers called may make the calls of a deployer
// of their scope, and no others, though it comes over the socket.
func TestEveryRouteWithinACallOfContainers(t *testing.T) {
	for i, call := range calls {
		t.Run(fmt.Sprint(i, " ", call.route), func(t *testing.T) {
			w, called := newCallWorld(t)
			method, path, _ := strings.Cut(place.Replace(call.route), " ")
			for _, party := range []struct{ scope, as string }{{"bank", "deployer-elsewhere"}, {"prod", "deployer"}} {
				id, end := called(party.scope)
				before := w.put(records.SchemaKey, "1") // the view has what the call wrote before
				response, body := w.within(id, "", method, path+"?"+call.query, call.body)
				may := slices.Contains(strings.Fields(call.who), party.as)
				if may == (response.StatusCode == http.StatusForbidden) {
					t.Errorf("containers of %s may: %v, and get %d: %s", party.scope, may, response.StatusCode, body)
				}
				if !may && method != http.MethodHead {
					forbidden(t, response, body)
				}
				if !may && w.view.Revision() != before {
					t.Errorf("containers of %s, refused, changed the store", party.scope)
				}
				end()
			}
		})
	}
}

// TestAPluginsClientHasNoRightsOfItsSender: neither to see other scopes, nor to mount a folder that people may mount;
// and a token that may do less gets no more.
func TestAPluginsClientHasNoRightsOfItsSender(t *testing.T) {
	const mounts = `{"kind":"deployment","scope":"prod","name":"data","spec":{"image":"a","volumes":["/srv/data:/d"]}}`
	const plain = `{"kind":"deployment","scope":"prod","name":"data","spec":{"image":"a"}}`
	w, called := newCallWorld(t)
	vault := deployment("vault", `{"image":"a:1"}`)
	vault.Scope = "bank"
	if _, err := w.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{vault}}); err != nil {
		t.Fatal(err)
	}
	id, end := called("prod")
	defer end()
	if _, body := w.within(id, "", "GET", "/v1/objects/deployment", ""); strings.Contains(body, "vault") ||
		!strings.Contains(body, "web") {
		t.Errorf("it lists %s", body)
	}
	for name, tc := range map[string]struct {
		token, body, want string
	}{
		"over the socket":       {"", plain, ""},
		"by the server's token": {token, plain, ""},
		"a folder":              {"", mounts, "the host, and containers of statefulset/prod/cache act as a deployer"},
		"a folder, by a token":  {w.person("carol", api.Deployer, time.Hour, "prod"), mounts, "volumes reaches the host"},
		"a viewer":              {w.person("alice", api.Viewer, time.Hour, "prod"), plain, "apply needs deployer"},
		"of another scope":      {w.person("ben", api.Deployer, time.Hour, "bank"), plain, "apply needs deployer"},
	} {
		response, body := w.within(id, tc.token, "POST", "/v1/apply", tc.body)
		if tc.want == "" && response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", name, body)
		}
		if tc.want != "" {
			if p := forbidden(t, response, body); !strings.Contains(p.Detail, tc.want) || strings.Contains(p.Next, "token") {
				t.Errorf("%s: %s", name, body)
			}
		}
	}
}
