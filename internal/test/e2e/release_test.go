//go:build integration

package e2e

import (
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/fault"
	"tend.dev/tend/internal/test/testimage"
)

// releases returns the edit that sets the commands of each release.
func releases(edit func(*api.ReleaseHooks)) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) {
		s.Release = &api.ReleaseHooks{}
		edit(s.Release)
	}
}

// program returns a command of the test server.
func program(args ...string) []string { return append([]string{testimage.Program}, args...) }

// slots returns the slots of an object whose containers were started, in order.
func (h *history) slots(name string) (out []string) {
	for _, event := range h.all() {
		if attributes := event.Actor.Attributes; event.Action == "start" && attributes["tend.name"] == name {
			out = append(out, attributes["tend.slot"])
		}
	}
	return out
}

// commands returns the slots of a release's commands.
func (h *history) commands(name string) []string {
	return slices.DeleteFunc(h.slots(name), func(slot string) bool { return !strings.Contains(slot, "-") })
}

// TestReleaseCommands see the release's image and environment, beside slots that hold a port of the host. If one fails,
// the release before serves on untouched, the command line ends with 2 and shows why with the last lines, and a
// corrected manifest comes through.
func TestReleaseCommands(t *testing.T) {
	m := newMachine(t).start()
	m.commandsSeeTheRelease()
	m.deploy(m.manifest("app", replicas(2), releases(func(r *api.ReleaseHooks) { r.Command = program("print", "2") })))
	before := m.containers("app")
	manifest := m.file("app.hcl", `deployment "`+m.scope+`" "app" {
  image    = "`+image("v2")+`"
  replicas = 2
  release {
    command = ["`+testimage.Program+`", "cat", "/no/such/migration"]
  }
}
`)
	m.wantSaid(m.tend("apply", "-f", manifest), 2, "not rolled out", "release.command of v2 failed", "exit code 1",
		"/no/such/migration: no such file")
	if after := m.containers("app"); !slices.Equal(before, after) {
		t.Errorf("a failed release command touched the slots: %v -> %v", before, after)
	}
	m.degraded("app", "ReleaseCommandFailed", "/no/such/migration")
	m.wantSaid(m.tend("releases", m.scope+"/app"), 0, "command failed (exit 1)", "command succeeded")
	m.wantSaid(m.tend("describe", m.scope+"/app"), 0, "ReleaseCommandFailed", "command failed (exit 1)")
	m.wantSaid(m.tend("logs", m.scope+"-app.v2-command"), 0, "/no/such/migration")
	m.deploy(m.manifest("app", replicas(2), runs("v2"),
		releases(func(r *api.ReleaseHooks) { r.Command = program("exit", "0") })))
	m.exactly("app", 2, "v2")
}

func (m *machine) commandsSeeTheRelease() {
	m.Helper()
	h := m.follow()
	m.deploy(m.manifest("app", env(map[string]string{"MIGRATE": "to-2"}), func(s *api.DeploymentSpec) {
		s.Ports = []string{"80"}
		s.Hostname = "app"
		s.DockerOptions = []string{"--network-alias", "front"}
	}, releases(func(r *api.ReleaseHooks) {
		r.PreCommand, r.Command, r.PostCommand = program("exit", "0"), program("env"), program("exit", "1")
	})))
	m.until("the command after the rollout has run", func() bool { return slices.Contains(h.commands("app"), "v1-post") })
	if got := strings.Join(h.commands("app"), " "); got != "v1-pre v1-command v1-post" {
		m.Errorf("the commands that ran are %s", got)
	}
	if slots := h.slots("app"); len(slots) != 4 || slots[2] == "v1-post" {
		m.Errorf("started in the order %v, want two commands, a slot, a command", slots)
	}
	m.wantSaid(m.tend("logs", m.scope+"-app.v1-command"), 0, "MIGRATE=to-2")
	command := m.inspect(m.scope + "-app.v1-command")
	policy, _ := command.HostConfig["RestartPolicy"].(map[string]any)
	if bindings, _ := command.HostConfig["PortBindings"].(map[string]any); policy["Name"] != "no" || len(bindings) > 0 {
		m.Errorf("the command's container has %v and publishes %v", policy, bindings)
	}
	m.converged("app", 0)
	m.delete("app")
	m.gone("app")
	m.until("nothing is left of the commands", func() bool { return len(m.boxes("tend.scope="+m.scope)) == 0 })
}

// TestMigrationsRunOnce: the server is killed when it has started a command of a release, and the command is started
// once.
func TestMigrationsRunOnce(t *testing.T) { killedAt(t, "runtime.start.after") }

// killedAt kills a server at a failpoint of a release's life. Each command is started once all the same.
func killedAt(t *testing.T, point string) {
	m := newMachine(t)
	m.env = []string{fault.EnvCrash + "=" + point}
	m.launch("server")
	h := m.follow()
	m.until("the server answers or was killed", func() bool { return m.over() || m.answers() })
	if !m.over() {
		// the kill may come before the answer
		_, _ = m.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{migrated(m)}})
	}
	m.until("the server is killed", m.over)
	m.env = nil
	m.start()
	revision := m.apply(migrated(m))
	m.converged("app", revision)
	m.exactly("app", 1, "v1")
	h.caughtUp()
	if got := strings.Join(h.commands("app"), " "); got != "v1-pre v1-command" {
		t.Errorf("killed at %s, the commands that ran are %q, want each once", point, got)
	}
}

func migrated(m *machine) api.Object {
	return m.manifest("app", releases(func(r *api.ReleaseHooks) {
		r.PreCommand, r.Command = program("exit", "0"), program("exit", "0", "100ms")
	}))
}

// over reports whether the server's process has ended.
func (m *machine) over() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

func (m *machine) answers() bool {
	readiness, err := m.client.Readiness(m.Context())
	return err == nil && readiness.Ready
}
