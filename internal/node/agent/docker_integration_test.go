//go:build integration

package agent_test

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// TestDockerWhatFollows runs section 5's table on a real engine. The engine's own restart has its own test, on its own
// engine.
func TestDockerWhatFollows(t *testing.T) {
	kill := func(m *machine, pod string) { m.docker("kill", pod) }
	stop := func(m *machine, pod string) { m.docker("stop", "-t", "2", pod) }
	remove := func(m *machine, pod string) { m.docker("rm", "-f", pod) }
	itself := func(m *machine, pod string) { m.goesOn(pod); m.docker("wait", pod) }

	serve := []string{testimage.Program, "wait"}
	exits := []string{testimage.Program, "await", goOn, "3"}
	for name, tc := range map[string]struct {
		policy   string
		command  []string
		happens  func(*machine, string)
		up, down string
	}{
		"kill":          {"unless-stopped", serve, kill, "healed", "healed"},
		"stop":          {"unless-stopped", serve, stop, "healed", "healed"},
		"rm -f":         {"unless-stopped", serve, remove, "remade", "remade"},
		"kill, no":      {"no", serve, kill, "healed", "failed"},
		"rm -f, no":     {"no", serve, remove, "remade", "remade"},
		"exit, no":      {"no", exits, itself, "failed", "failed"},
		"exit, restart": {"on-failure", exits, (*machine).goesOn, "restarted", "restarted"},
	} {
		for _, watched := range []bool{true, false} {
			want, agentIs := tc.up, "up"
			if !watched {
				want, agentIs = tc.down, "down"
			}
			t.Run(name+" agent "+agentIs, func(t *testing.T) {
				m := newMachine(t, "")
				m.start()
				defer func() { m.stop() }()
				task := m.deploy(tc.policy, tc.command...)
				before := m.untilRunning(task)
				if !watched {
					m.stop()
				}
				if tc.happens != nil {
					tc.happens(m, task.ContainerName())
				}
				if !watched {
					m.start()
				}
				m.wantEnd(task, before, want)
			})
		}
	}
}

// wantEnd waits for the expected result.
func (m *machine) wantEnd(task api.Task, before api.TaskStatus, want string) {
	m.t.Helper()
	switch want {
	case "failed":
		status := m.until(task, want, func(s api.TaskStatus) bool { return s.State.Terminal() })
		if status.State != api.TaskFailed || status.Reason != "Exited" || status.ExitCode == nil || *status.ExitCode == 0 {
			m.t.Errorf("status %+v", status)
		}
	case "restarted":
		m.until(task, want, func(s api.TaskStatus) bool {
			return s.Incarnations > before.Incarnations && len(s.Exits) > 0 && s.Container == before.Container
		})
	default:
		after := m.until(task, want, func(s api.TaskStatus) bool { return s.Ready && s.Incarnations > before.Incarnations })
		if remade := after.Container != before.Container; remade != (want == "remade") {
			m.t.Errorf("%s: container %s, before %s", want, after.Container, before.Container)
		}
		if len(after.Exits) != 0 {
			m.t.Errorf("a stop by hand counted as a crash: %v", after.Exits)
		}
	}
}

// TestDockerHealsQuickly compares by the engine's own clock: from the end of a killed container to its next start.
func TestDockerHealsQuickly(t *testing.T) {
	m := newMachine(t, "")
	m.start()
	defer func() { m.stop() }()
	task := m.deploy("unless-stopped", testimage.Program, "wait")
	before := m.untilRunning(task)
	m.docker("kill", task.ContainerName())
	after := m.until(task, "healed",
		func(s api.TaskStatus) bool { return s.Ready && s.Incarnations > before.Incarnations })
	ended, err := time.Parse(time.RFC3339Nano, m.docker("inspect", "-f", "{{.State.FinishedAt}}", task.ContainerName()))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("down for %s", after.StartedAt.Sub(ended))
}

func TestDockerCrashLoopIsGivenUp(t *testing.T) {
	m := newMachine(t, "")
	m.start()
	defer func() { m.stop() }()
	task := m.deploy("unless-stopped", testimage.Program, "exit", "7")
	status := m.until(task, "failed", func(s api.TaskStatus) bool { return s.State.Terminal() })
	if status.State != api.TaskFailed || status.Reason != "CrashLoop" || status.ExitCode == nil || *status.ExitCode != 7 {
		t.Errorf("status %+v", status)
	}
	if state := m.docker("inspect", "-f", "{{.State.Status}}", task.ContainerName()); state != "exited" {
		t.Errorf("the engine goes on: %s", state)
	}
}
