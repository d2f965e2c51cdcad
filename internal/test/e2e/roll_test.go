//go:build integration

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func mustJSON(t *testing.T, value any) []byte {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestRollStartFirst: at no moment fewer containers run than are wanted, nor more than one beyond.
func TestRollStartFirst(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(3)))
	h := m.follow()
	status := m.deploy(m.manifest("app", replicas(3), runs("v2")))
	if fewest, most := h.bounds("app", 3); fewest < 3 || most > 4 {
		t.Errorf("between %d and %d containers ran during the rollout, want 3 to 4", fewest, most)
	}
	if status.Release != "v2" || h.starts("app", "v2") != 3 {
		t.Errorf("status %+v after %d starts", status, h.starts("app", "v2"))
	}
	m.exactly("app", 3, "v2")
	pods := m.pods("app")
	m.wantSaid(m.tend("restart", m.scope+"/app"), 0)
	for _, pod := range m.pods("app") {
		if slices.ContainsFunc(pods, func(old api.Pod) bool { return old.Name == pod.Name }) {
			t.Errorf("%s was not replaced by the restart", pod.Name)
		}
	}
	if after := m.status("app"); after.Release != "v2" {
		t.Errorf("a restart made release %s", after.Release)
	}
}

// TestRollStopFirst: a fixed port of the host can be held once, so the old container ends before the new one starts.
func TestRollStopFirst(t *testing.T) {
	m := newMachine(t).start()
	port := freePort(t)
	fixed := func(s *api.DeploymentSpec) { s.Ports = []string{fmt.Sprintf("%d:8080", port)} }
	m.deploy(m.manifest("app", fixed))
	h := m.follow()
	m.deploy(m.manifest("app", fixed, runs("v2")))
	if fewest, most := h.bounds("app", 1); most > 1 || fewest != 0 {
		t.Errorf("between %d and %d containers ran during the rollout, want 0 to 1", fewest, most)
	}
	m.exactly("app", 1, "v2")
	m.until("the new version answers on the same port", func() bool {
		pod := m.pods("app")[0]
		return pod.Ports[0].HostPort == port && strings.HasPrefix(answer(pod), "hello v2 ")
	})
}

// freePort returns a port without a listener that neither the kernel nor the engine assigns: it must be asked for by
// its number.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20000 + rand.N(10000)
		if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = listener.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// TestRollback returns image and spec, leaves the count alone, and config unless that is asked for.
func TestRollback(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(2), env(map[string]string{"MODE": "one"})))
	if _, err := m.client.SetConfig(t.Context(), m.scope, "app",
		api.ConfigRequest{Set: map[string]string{"COLOR": "blue"}}); err != nil {
		t.Fatal(err)
	}
	m.until("the first environment is rolled out",
		func() bool { return m.status("app").Release == "v2" && m.status("app").Updated == 2 })
	m.deploy(m.manifest("app", replicas(3), runs("v2"), env(map[string]string{"MODE": "two"}),
		func(s *api.DeploymentSpec) { s.Hostname = "changed" }))
	if _, err := m.client.SetConfig(t.Context(), m.scope, "app",
		api.ConfigRequest{Set: map[string]string{"COLOR": "red"}}); err != nil {
		t.Fatal(err)
	}
	m.until("the second environment is rolled out",
		func() bool { return m.status("app").Release == "v4" && m.status("app").Updated == 3 })

	wantEnv := func(color string) {
		m.exactly("app", 3, "v1")
		for name := range m.running("app") {
			seen := m.inspect(name)
			if seen.Config.Hostname == "changed" {
				t.Errorf("%s kept the hostname of what was rolled back", name)
			}
			for _, want := range []string{"MODE=one", "COLOR=" + color} {
				if !slices.Contains(seen.Config.Env, want) {
					t.Errorf("%s lacks %s: %v", name, want, seen.Config.Env)
				}
			}
		}
	}
	m.wantSaid(m.tend("rollback", m.scope+"/app", "v2"), 0, "config stays as it is today; changed since v2: COLOR changed")
	wantEnv("red")
	m.wantSaid(m.tend("rollback", m.scope+"/app", "v2", "--with-config"), 0, "with the config of v2")
	wantEnv("blue")
	releases, err := m.client.Releases(t.Context(), client.TargetOf(m.ref("app")))
	if err != nil {
		t.Fatal(err)
	}
	if newest := releases.Items[0]; newest.RolledBackFrom != "v2" || !newest.Current || newest.Pods != 3 {
		t.Errorf("newest release %+v, want the current one, from v2, with 3 pods", newest)
	}
}
