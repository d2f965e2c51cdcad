package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// The values that the environment of prod/cache lacks.
const (
	theKey   = "-----BEGIN PRIVATE KEY-----\nQUFBQQ==\n-----END PRIVATE KEY-----\n"
	theCert  = "-----BEGIN CERTIFICATE-----\nQkJCQg==\n-----END CERTIFICATE-----\n"
	theBuild = "only the build has it"
)

// newConfigWorld returns a server with ingresses of the scope and of the object's name, whose certificates are config,
// and the container URL of an object of a kind that has a secret of its build.
func newConfigWorld(t *testing.T, kind api.Kind) (w *world, own string) {
	t.Helper()
	w, containers := newPluginWorld(t, map[string]string{"kv/bin/info": `echo '{"status":"ok","data":{}}'`})
	object := made("cache", "u1", "kv/prod/cache")
	object.Kind = kind
	object.Spec = json.RawMessage(`{"build":{"secrets":["NPM_TOKEN","OWN_TOKEN"]},"secret_files":{"/run/f":"FILE"}}`)
	w.put(records.ObjectKey(object.Ref()), object)
	for name, tls := range map[string]string{"shop": `{"certificate":"TLS_CRT","key":"TLS_KEY"}`,
		"cache": `{"certificate":"OWN_CRT","key":"OWN_KEY"}`} {
		ingress := api.Object{Kind: api.KindIngress, Scope: "prod", Name: name,
			Spec: json.RawMessage(`{"host":"` + name + `.example","service":"web","port":80,"tls":` + tls + `}`)}
		w.put(records.ObjectKey(ingress.Ref()), ingress)
	}
	for name, values := range map[string]map[string]string{
		"": {"TLS_CRT": theCert, "TLS_KEY": theKey, "NPM_TOKEN": theBuild, "OWN_CRT": "no PEM", "SCOPE": "1",
			"FILE": "2"},
		"cache": {"OWN_CRT": theCert, "OWN_KEY": theKey, "OWN_TOKEN": theBuild, "APP": "3"},
	} {
		if _, err := w.client.SetConfig(t.Context(), "prod", name, api.ConfigRequest{Set: values}); err != nil {
			t.Fatal(err)
		}
	}
	return w, containers + server.ContainerToken(mac, object)
}

// TestContainersReadNoMoreThanTheirEnvironment: no answer of a callback path has a value that Tend keeps from the
// environment of the containers that call: a certificate or a key that an ingress names, or a secret of a build.
func TestContainersReadNoMoreThanTheirEnvironment(t *testing.T) {
	for _, kind := range []api.Kind{api.KindStatefulSet, api.KindDeployment} {
		w, own := newConfigWorld(t, kind)
		vars := func(query string) string {
			status, got := ask(t, http.MethodGet, own+"/config?scope=prod&name=cache"+query, "")
			if status != http.StatusOK {
				t.Errorf("%s: %d %s", query, status, got.Error)
			}
			return string(got.Data)
		}
		if got, want := vars(""), `{"vars":{"APP":"3","FILE":"2","SCOPE":"1"}}`; got != want {
			t.Errorf("%s: it reads %s", kind, got)
		}
		if got, want := vars("&merge=false"), `{"vars":{"APP":"3"}}`; got != want {
			t.Errorf("%s: of its own bucket it reads %s", kind, got)
		}
		if got, want := vars("&key=FILE"), `{"FILE":"2"}`; got != want {
			t.Errorf("%s: one key is %s", kind, got)
		}
		for _, key := range []string{"TLS_CRT", "TLS_KEY", "NPM_TOKEN", "OWN_CRT", "OWN_KEY", "OWN_TOKEN"} {
			for _, merge := range []string{"", "&merge=false"} {
				status, got := ask(t, http.MethodGet, own+"/config?scope=prod&name=cache&key="+key+merge, "")
				if status != http.StatusNotFound {
					t.Errorf("%s: %s%s: %d %s", kind, key, merge, status, got.Data)
				}
			}
		}
		paths := []string{"POST /config?scope=prod&name=cache", "DELETE /config?scope=prod&name=cache&key=OWN_KEY"}
		for pattern, row := range callbackRows {
			method, _, _ := strings.Cut(pattern, " ")
			paths = append(paths, method+" "+row.path)
		}
		slices.Sort(paths)
		for _, path := range paths {
			method, path, _ := strings.Cut(path, " ")
			_, text := w.callback(method, own+path, `{"args":["kv","info","prod/cache"]}`)
			for _, secret := range []string{"QUFBQQ", "QkJCQg", theBuild} {
				if strings.Contains(text, secret) {
					t.Errorf("%s: %s %s answers %s", kind, method, path, text)
				}
			}
		}
	}
}

// TestContainersUnsetWhatTheyDontRead: a container may remove every key of its own bucket, as a deployer may.
func TestContainersUnsetWhatTheyDontRead(t *testing.T) {
	w, own := newConfigWorld(t, api.KindStatefulSet)
	for i, key := range []string{"OWN_KEY", "OWN_TOKEN"} {
		method, path, body := http.MethodDelete, "/config?scope=prod&name=cache&key="+key, ""
		if i == 1 {
			method, path, body = http.MethodPost, "/config?scope=prod&name=cache", fmt.Sprintf(`{%q:""}`, key)
		}
		if status, got := ask(t, method, own+path, body); status != http.StatusOK {
			t.Errorf("%s: %d %s", key, status, got.Error)
		}
		if _, there := w.view.Snapshot().Get(records.ConfigAppPrefix("prod", "cache") + key); there {
			t.Errorf("%s is still there", key)
		}
	}
}
