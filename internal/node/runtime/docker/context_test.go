package docker

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/cli/cli/context"
	"github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"
)

// namedEngine answers over HTTP or HTTPS as an engine whose version is its name.
func namedEngine(t *testing.T, name string, start func(http.Handler) *httptest.Server) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("API-Version", "1.41") })
	mux.HandleFunc("/v1.41/info", func(w http.ResponseWriter,
		_ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"ServerVersion":%q}`, name)
	})
	server := start(mux)
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	return server
}

func addressOf(server *httptest.Server) string { return "tcp://" + server.Listener.Addr().String() }

// TestEngineIsChosenAsByDocker: the flag, DOCKER_HOST, DOCKER_CONTEXT and docker context use, in this order.
func TestEngineIsChosenAsByDocker(t *testing.T) {
	near, plain, safe := namedEngine(t, "host", httptest.NewServer), namedEngine(t, "plain", httptest.NewServer),
		namedEngine(t, "safe", httptest.NewTLSServer)
	dir := t.TempDir()
	contexts := store.New(filepath.Join(dir, "contexts"), store.NewConfig(nil))
	create := func(name, host string, tls *context.TLSData) {
		meta := store.Metadata{Name: name, Metadata: map[string]any{},
			Endpoints: map[string]any{docker.DockerEndpoint: docker.EndpointMeta{Host: host}}}
		if err := contexts.CreateOrUpdate(meta); err != nil {
			t.Fatal(err)
		}
		if err := contexts.ResetEndpointTLSMaterial(name, docker.DockerEndpoint, tls.ToStoreTLSData()); err != nil {
			t.Fatal(err)
		}
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: safe.Certificate().Raw})
	create("plain", addressOf(plain), nil)
	create("safe", addressOf(safe), &context.TLSData{CA: authority})
	create("unknown-authority", addressOf(safe), &context.TLSData{CA: authority[:0]})
	for name, test := range map[string]struct {
		reason, current, context, host, flag string
		want, fault                          string
	}{
		"current": {reason: "of docker context use", current: "plain", want: "plain"},
		"variable": {reason: "DOCKER_CONTEXT goes before the current one", current: "plain",
			context: "safe", want: "safe"},
		"host": {reason: "DOCKER_HOST goes before contexts", current: "plain", context: "safe",
			host: addressOf(near), want: "host"},
		"flag": {reason: "the flag goes before all", context: "safe", host: addressOf(near),
			flag: addressOf(plain), want: "plain"},
		"default":     {reason: "its name isn't a context", current: "plain", context: "default", fault: "none"},
		"not there":   {reason: "the missing one is named", context: "gone", fault: `context "gone"`},
		"untrusted":   {reason: "a context's certificate authority counts", context: "unknown-authority", fault: "ca.pem"},
		"broken file": {reason: "it is as none", current: `"`, fault: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DOCKER_CONFIG", dir)
			t.Setenv("DOCKER_CONTEXT", test.context)
			t.Setenv("DOCKER_HOST", test.host)
			if err := os.WriteFile(filepath.Join(dir, "config.json"),
				[]byte(`{"currentContext":"`+test.current+`"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			rt, err := New(t.Context(), Options{Host: test.flag, Cluster: "c", Node: "n"})
			switch {
			case err != nil:
				if test.fault == "" || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("%s: %v, want %q", test.reason, err, test.fault)
				}
				return
			case test.fault == "none":
				if host := rt.client.DaemonHost(); host != "unix:///var/run/docker.sock" {
					t.Errorf("%s: %s", test.reason, host)
				}
			default:
				info, err := rt.Info(t.Context())
				if err != nil || info.Version != test.want {
					t.Errorf("%s: %q, %v, want %q", test.reason, info.Version, err, test.want)
				}
			}
			if err := rt.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNoHome: a systemd service has no HOME; its user has one nevertheless.
func TestNoHome(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", "")
	t.Setenv("HOME", "")
	if dir := configDir(); !filepath.IsAbs(dir) || filepath.Base(dir) != ".docker" {
		t.Errorf("docker's config is looked for in %q", dir)
	}
}
