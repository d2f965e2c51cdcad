package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// The parties that call the callback paths about prod/cache, which the plugin kv made.
const (
	itsContainer = "its container"
	ofItsPlugin  = "a container of another object that the plugin made in the scope"
	ofNoPlugin   = "a container of an object that no plugin made"
	ofFarScope   = "a container of another scope"
	ofEarlier    = "a container of an earlier object of the name"
	forger       = "who forges a token"
	itsPlugin    = "a call of the plugin for the scope"
	farPlugin    = "a call of the plugin for another scope"
	dryPlugin    = "the plugin in a dry run"
)

var (
	anyGrant    = []string{itsContainer, ofItsPlugin, ofNoPlugin, ofFarScope, itsPlugin, farPlugin, dryPlugin}
	itsReaders  = []string{itsContainer, itsPlugin, dryPlugin}
	itsChangers = []string{itsContainer, itsPlugin}
	itsCallers  = []string{itsContainer, ofItsPlugin, itsPlugin}
)

// callbackRows are all callback paths, each with a request about prod/cache and those who may make it.
var callbackRows = map[string]struct {
	path, body string
	who        []string
}{
	"GET /health":                   {path: "/health", who: anyGrant},
	"GET /describe":                 {path: "/describe?kind=statefulset&scope=prod&name=cache", who: itsReaders},
	"GET /config":                   {path: "/config?scope=prod&name=cache", who: itsReaders},
	"POST /config":                  {path: "/config?scope=prod&name=cache", body: `{"A":"1"}`, who: itsChangers},
	"DELETE /config":                {path: "/config?scope=prod&name=cache&key=A", who: itsChangers},
	"DELETE /resource":              {path: "/resource?scope=prod&name=cache&ordinal=7", who: itsChangers},
	"POST /restart":                 {path: "/restart?kind=statefulset&scope=prod&name=cache", who: itsChangers},
	"POST /plugin/{name}/{command}": {path: "/plugin/kv/info", body: `{"args":["prod/cache"]}`, who: itsCallers},
	"POST /plugins/exec":            {path: "/plugins/exec", body: `{"args":["kv","info","prod/cache"]}`, who: itsCallers},
}

// TestEveryCallbackForEveryParty: who may not make a call is refused, and changes nothing; all others are answered.
func TestEveryCallbackForEveryParty(t *testing.T) {
	within, beyond, dry := newFifos(t), newFifos(t), newFifos(t)
	w, containers := newPluginWorld(t, map[string]string{"kv/bin/info": `echo '{"status":"ok","data":{}}'`,
		"kv/bin/wait": within.printsURLAndWaits(), "kv/bin/far": beyond.printsURLAndWaits(),
		"kv/bin/expand": dry.printsURLAndWaits()})
	for _, pattern := range w.server.CallbackRoutes() {
		if callbackRows[pattern].path == "" {
			t.Errorf("%s has no row in callbackRows", pattern)
		}
	}
	far := made("far", "u4", "kv/dev/far")
	far.Scope = "dev"
	own := map[string]api.Object{itsContainer: made("cache", "u1", "kv/prod/cache"),
		ofItsPlugin: made("other", "u2", "kv/prod/other"), ofNoPlugin: made("plain", "u3", ""), ofFarScope: far}
	urls := map[string]string{forger: containers + "prod.cache.forged",
		ofEarlier: containers + server.ContainerToken(mac, made("cache", "u0", "kv/prod/cache"))}
	for name, object := range own {
		w.put(records.ObjectKey(object.Ref()), object)
		urls[name] = containers + server.ContainerToken(mac, object)
	}
	ended := make(chan error, 3)
	go func() { _, err := w.client.CallPlugin(t.Context(), "kv", "wait", []string{"prod/cache"}); ended <- err }()
	urls[itsPlugin] = within.open(t)
	go func() { _, err := w.client.CallPlugin(t.Context(), "kv", "far", []string{"dev/far"}); ended <- err }()
	urls[farPlugin] = beyond.open(t)
	go func() {
		_, _ = w.client.Apply(t.Context(), api.ApplyRequest{DryRun: true, Objects: []api.Object{
			{Kind: "kv", Scope: "prod", Name: "a", Spec: json.RawMessage(`{}`)}}}) // its macro expands to nothing
		ended <- nil
	}()
	urls[dryPlugin] = dry.open(t)
	for pattern, row := range callbackRows {
		if !slices.Contains(w.server.CallbackRoutes(), pattern) {
			t.Errorf("%s has a row in callbackRows, and nothing answers it", pattern)
		}
		for party, url := range urls {
			before := w.view.Revision()
			method, _, _ := strings.Cut(pattern, " ")
			status, text := w.callback(method, url+row.path, row.body)
			refused := status == http.StatusUnauthorized || status == http.StatusForbidden
			if may := slices.Contains(row.who, party); refused == may || status >= 500 {
				t.Errorf("%s: %s may: %v, and gets %d %s", pattern, party, may, status, text)
			}
			if refused && w.view.Revision() != before {
				t.Errorf("%s: %s, refused, changed the store", pattern, party)
			}
		}
	}
	for _, endpoint := range []fifos{within, beyond, dry} {
		endpoint.shut(t)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// callback makes a call, whose answer may have any form.
func (w *world) callback(method, url, body string) (int, string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Close = true
	response, text := w.do(request)
	return response.StatusCode, text
}
