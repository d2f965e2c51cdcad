package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// In a dry run a macro's plugin may read but not change anything, whether or not it knows about dry runs.
func TestDryRunEndpoint(t *testing.T) {
	endpoint := newFifos(t)
	w, _ := newPluginWorld(t, map[string]string{"kv/bin/expand": endpoint.printsURLAndWaits()})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.client.Apply(t.Context(), api.ApplyRequest{DryRun: true,
			Objects: []api.Object{{Kind: "kv", Scope: "prod", Name: "a", Spec: json.RawMessage(`{}`)}}}) // its macro expands to nothing
	}()
	endpoint.call(t, "POST", "/config?scope=prod&name=a", `{"A":"1"}`, "this is a dry run")
	<-done
}

// The command line that a plugin runs in a dry run may read but not change anything either: it sends the id of the
// plugin's call.
func TestDryRunWithTheCommandLine(t *testing.T) {
	endpoint := newFifos(t)
	w, _ := newPluginWorld(t, map[string]string{"kv/bin/expand": strings.Replace(endpoint.printsURLAndWaits(),
		"TEND_CONTROLLER_URL", "TEND_PLUGIN_CALL", 1),
		"kv/bin/set": `echo '{"status":"ok","data":{"actions":[{"type":"config_set","scope":"prod","name":"web","kv":{"A":"1"}}]}}'`})
	web := []api.Object{{Kind: "kv", Scope: "prod", Name: "a", Spec: json.RawMessage(`{}`)}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.client.Apply(t.Context(), api.ApplyRequest{DryRun: true, Objects: web}) // its macro expands to nothing
	}()
	within, err := client.New(client.Options{Server: "unix://" + w.socket, PluginCall: endpoint.open(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer within.Close()
	if _, err := within.Plugins(t.Context()); err != nil {
		t.Errorf("a question: %v", err)
	}
	objects := []api.Object{deployment("web", `{"image":"web:1"}`)}
	if _, err := within.Apply(t.Context(), api.ApplyRequest{Objects: objects, DryRun: true}); err != nil {
		t.Errorf("another dry run: %v", err)
	}
	_, applied := within.Apply(t.Context(), api.ApplyRequest{Objects: objects})
	_, called := within.CallPlugin(t.Context(), "kv", "set", nil)
	for what, err := range map[string]error{"an apply": applied, "a command": called} {
		if err == nil || !strings.Contains(err.Error(), "within a dry run") {
			t.Errorf("%s: %v", what, err)
		}
	}
	endpoint.shut(t)
	<-done
	_, applied = within.Apply(t.Context(), api.ApplyRequest{Objects: objects})
	_, read := within.Plugins(t.Context())
	for what, err := range map[string]error{"an apply": applied, "a read": read} {
		problem, _ := err.(*api.Problem)
		if problem == nil || problem.Status != http.StatusForbidden || problem.Next == "" {
			t.Errorf("%s of a call that has ended: %v", what, err)
		}
	}
}

// fifos are two pipes: a running plugin writes its callback URL to one, and waits on the other until the test has tried
// it.
type fifos struct{ url, end string }

func newFifos(t *testing.T) fifos {
	t.Helper()
	dir := t.TempDir()
	d := fifos{filepath.Join(dir, "url"), filepath.Join(dir, "end")}
	if err := errors.Join(syscall.Mkfifo(d.url, 0o600), syscall.Mkfifo(d.end, 0o600)); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d fifos) printsURLAndWaits() string {
	return fmt.Sprintf("printf '%%s' \"$TEND_CONTROLLER_URL\" >%s; cat %s", d.url, d.end)
}

// open returns the callback URL once the plugin runs; shut lets the plugin end.
func (d fifos) open(t *testing.T) string {
	t.Helper()
	url, err := os.ReadFile(d.url)
	if err != nil {
		t.Fatal(err)
	}
	return string(url)
}

func (d fifos) shut(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(d.end, nil, 0o600); err != nil {
		t.Error(err)
	}
}

// call tries a callback path, which must answer with an error.
func (d fifos) call(t *testing.T, method, path, body, want string) {
	t.Helper()
	if status, got := ask(t, method, d.open(t)+path, body); status < 400 || !strings.Contains(got.Error, want) {
		t.Errorf("%s: %d %+v", path, status, got)
	}
	d.shut(t)
}
