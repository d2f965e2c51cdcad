//go:build integration

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/testimage"
)

// TestMissingImage: it is reported in plain words, affects no other object, and converges when the image is built.
func TestMissingImage(t *testing.T) {
	m := newMachine(t).start()
	tag := "tendtest-" + random() + "/late:v1"
	late := func(s *api.DeploymentSpec) { s.Image = tag }
	revision := m.apply(m.manifest("app", late))
	m.until("the image is said to be missing", func() bool {
		c := api.FindCondition(m.status("app").Conditions, api.ConditionDegraded)
		return c != nil && c.Status == api.ConditionTrue && c.Message != ""
	})
	t.Logf("%+v", api.FindCondition(m.status("app").Conditions, api.ConditionDegraded))
	m.wantSaid(m.tend("apply", "-f", m.file("app.json", string(mustJSON(t, m.manifest("app", late))))), 1, tag)
	m.deploy(m.manifest("other"))
	if err := testimage.Ensure(t.Context(), "v1", tag); err != nil {
		t.Fatal(err)
	}
	m.afterwards(func() {
		if err := testimage.Remove(context.Background(), tag); err != nil {
			t.Error(err)
		}
	})
	m.converged("app", revision)
}

// TestContainerThatEndsAtOnce: its condition shows the exit code and the last lines; correcting it heals.
func TestContainerThatEndsAtOnce(t *testing.T) {
	m := newMachine(t).start()
	m.apply(m.manifest("app", broken))
	m.degraded("app", "CrashLoop", "exit code 7", "line 3")
	m.deploy(m.manifest("other"))
	m.deploy(m.manifest("app", runs("v1")))
	m.exactly("app", 1, "v1")
}

// TestPortTaken by a foreign process: the message names it, and the rollout converges when it goes.
func TestPortTaken(t *testing.T) {
	m := newMachine(t).start()
	holder, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	port := holder.Addr().(*net.TCPAddr).Port
	revision := m.apply(m.manifest("app", func(s *api.DeploymentSpec) { s.Ports = []string{fmt.Sprintf("%d:8080", port)} }))
	m.degraded("app", "PortTaken", fmt.Sprint(port))
	m.deploy(m.manifest("other"))
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	m.converged("app", revision)
}

// TestMissingMount: a host folder that isn't there is said, and taken once it is.
func TestMissingMount(t *testing.T) {
	m := newMachine(t).start()
	folder := filepath.Join(t.TempDir(), "later")
	revision := m.apply(m.manifest("app", func(s *api.DeploymentSpec) {
		s.DockerOptions = []string{"--mount", "type=bind,source=" + folder + ",target=/data"}
	}))
	m.degraded("app", "MountNotFound", folder)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	m.converged("app", revision)
}
