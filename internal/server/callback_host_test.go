package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// TestContainersDecideNotWhatRunsOnAHost: an admin's workload of another scope reads the bucket of a statefulset, whose
// image a deployer chose. Neither the containers of that, nor a plugin that they call, nor a client of that plugin sets
// a value or replaces an object of an admin's; an admin's call of the plugin does.
func TestContainersDecideNotWhatRunsOnAHost(t *testing.T) {
	const does = `echo '{"status":"ok","data":{"actions":[%s]}}'`
	endpoint := newFifos(t)
	w, containers := newPluginWorld(t, map[string]string{
		"kv/bin/set":   fmt.Sprintf(does, `{"type":"config_set","scope":"prod","name":"cache","kv":{"LD_PRELOAD":"/x.so"}}`),
		"kv/bin/unset": fmt.Sprintf(does, `{"type":"config_unset","scope":"prod","name":"cache","keys":["OLD"]}`),
		"kv/bin/apply": fmt.Sprintf(does, `{"type":"apply_manifest","manifest":{"kind":"deployment","scope":"prod","name":"host",`+
			`"spec":{"image":"mine"}}}`),
		"kv/bin/wait": endpoint.printsURLAndWaits(),
		"kv/bin/ask":  strings.Replace(endpoint.printsURLAndWaits(), "$TEND_CONTROLLER_URL", "$TEND_PLUGIN_CALL", 1),
	})
	cache := made("cache", "u1", "kv/prod/cache")
	w.put(records.ObjectKey(cache.Ref()), cache)
	for _, text := range []string{
		`{"kind":"deployment","scope":"ops","name":"agent","spec":{"image":"a","volumes":["/:/host"],"env_from":["prod/cache"]}}`,
		`{"kind":"deployment","scope":"prod","name":"host","spec":{"image":"a","volumes":["/:/host"]}}`,
	} {
		if response, answer := w.raw("POST", "/v1/apply", "application/json", text); response.StatusCode != 200 {
			t.Fatal(answer)
		}
	}
	if _, err := w.client.SetConfig(t.Context(), "prod", "cache", api.ConfigRequest{Set: map[string]string{"OLD": "1"}}); err != nil {
		t.Fatal(err)
	}
	own := containers + server.ContainerToken(mac, cache)
	plugin := func(command, method, path, body string) (int, string) {
		done := make(chan string, 1)
		go func() {
			_, got := ask(t, "POST", own+"/plugin/kv/"+command, `{"args":["prod/cache"]}`)
			done <- got.Error
		}()
		defer func() { endpoint.shut(t); <-done }()
		status, got := ask(t, method, endpoint.open(t)+path, body)
		return status, got.Error
	}
	direct := func(method, path, body string) func() (int, string) {
		return func() (int, string) { status, got := ask(t, method, own+path, body); return status, got.Error }
	}
	for name, call := range map[string]func() (int, string){
		"their bucket":      direct("POST", "/config?scope=prod&name=cache", `{"LD_PRELOAD":"/x.so"}`),
		"a key emptied":     direct("POST", "/config?scope=prod&name=cache", `{"OLD":""}`),
		"a key removed":     direct("DELETE", "/config?scope=prod&name=cache&key=OLD", ""),
		"a plugin's action": direct("POST", "/plugin/kv/set", `{"args":["prod/cache"]}`),
		"one that removes":  direct("POST", "/plugin/kv/unset", `{"args":["prod/cache"]}`),
		"one that applies":  direct("POST", "/plugin/kv/apply", `{"args":["prod/cache"]}`),
		"a plugin's callback": func() (int, string) {
			return plugin("wait", "POST", "/config?scope=prod&name=cache", `{"LD_PRELOAD":"/x.so"}`)
		},
		"the scope's bucket": func() (int, string) {
			return plugin("wait", "POST", "/config?scope=prod", `{"LD_PRELOAD":"/x.so"}`)
		},
		"a plugin within it": func() (int, string) {
			return plugin("wait", "POST", "/plugin/kv/set", `{"args":["prod/cache"]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := w.view.Snapshot().Revision()
			if status, text := call(); status < http.StatusBadRequest || !strings.Contains(text, "reaches the host") {
				t.Errorf("%d %s", status, text)
			}
			for _, key := range []string{"LD_PRELOAD", "OLD"} {
				_, there := w.view.Snapshot().Get(records.ConfigAppPrefix("prod", "cache") + key)
				if there != (key == "OLD") {
					t.Errorf("%s is there: %v (revision %d before)", key, there, before)
				}
			}
		})
	}
	t.Run("a client of a plugin", func(t *testing.T) {
		done := make(chan struct{})
		go func() { defer close(done); ask(t, "POST", own+"/plugin/kv/ask", `{"args":["prod/cache"]}`) }()
		within, err := client.New(client.Options{Server: "unix://" + w.socket, PluginCall: endpoint.open(t)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = within.SetConfig(t.Context(), "prod", "cache",
			api.ConfigRequest{Set: map[string]string{"LD_PRELOAD": "/x.so"}})
		if problem, _ := err.(*api.Problem); problem == nil || problem.Status != http.StatusForbidden {
			t.Errorf("it is not refused: %v", err)
		}
		endpoint.shut(t)
		<-done
	})
	if _, err := w.client.CallPlugin(t.Context(), "kv", "set", []string{"prod/cache"}); err != nil {
		t.Error(err)
	}
	if _, there := w.view.Snapshot().Get(records.ConfigAppPrefix("prod", "cache") + "LD_PRELOAD"); !there {
		t.Error("an admin's call of the plugin sets nothing")
	}
}
