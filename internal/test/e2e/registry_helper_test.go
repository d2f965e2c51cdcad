//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestRegistryHelper: a helper on the server's PATH is asked for the registry's host, and its answer logs in; an error
// names a helper that fails, and the helper's answer is stored nowhere.
func TestRegistryHelper(t *testing.T) {
	s := newShop(t)
	s.release()
	host, _, _ := strings.Cut(s.reference, "/")
	programs := t.TempDir()
	helper := func(script string) {
		if err := os.WriteFile(filepath.Join(programs, "docker-credential-box"),
			[]byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	asked := filepath.Join(programs, "asked")
	helper("echo the box is locked >&2; exit 4\n")
	m := newMachine(t)
	m.env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "DOCKER_CONFIG=" + t.TempDir()}
	m.start()
	m.afterwards(func() { m.engine("rmi", "-f", s.reference).ignored() })
	m.wantSaid(m.tend("apply", "-f", m.file("registry.hcl", `registry "shop" {
  url    = "`+host+`"
  helper = "box"
}`)), 0, "registry/shop created")
	revision := m.apply(m.manifest("app", func(o *api.DeploymentSpec) { o.Image = s.reference }))
	m.until("the helper's fault is reported", func() bool {
		c := api.FindCondition(m.status("app").Conditions, api.ConditionDegraded)
		return c != nil && c.Status == api.ConditionTrue && strings.Contains(c.Message, "docker-credential-box")
	})
	helper(`read host; echo "$1 $host" > ` + asked + `; echo '{"ServerURL":"x","Username":"ann","Secret":"right"}'` + "\n")
	m.converged("app", revision)
	if said, err := os.ReadFile(asked); err != nil || strings.TrimSpace(string(said)) != "get "+host {
		t.Errorf("the helper was asked %q, %v", said, err)
	}
	if found := holding(t, m.root, `"right"`); len(found) > 0 {
		t.Errorf("its answer lies in %v", found)
	}
}
