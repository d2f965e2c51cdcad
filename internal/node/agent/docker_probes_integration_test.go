//go:build integration

package agent_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/test/testimage"
)

func quick(p api.Probe) *api.Probe {
	p.Period, p.FailureThreshold = "200ms", 2
	return &p
}

func httpGet(path string) api.Probe {
	return api.Probe{HTTPGet: &api.HTTPGet{Path: path, Port: 8080}}
}

func execs(command ...string) api.Probe {
	return api.Probe{Exec: &api.ExecProbe{Command: append([]string{testimage.Program}, command...)}}
}

// serving returns the test server with an address and a readiness probe.
func (m *machine) serving(readiness api.Probe) api.DeploymentSpec {
	return api.DeploymentSpec{
		Container: api.Container{Image: m.image},
		Probes:    &api.Probes{Readiness: quick(readiness)},
	}
}

// onHost shares the node's network.
func (m *machine) onHost(port int) api.DeploymentSpec {
	spec := m.serving(api.Probe{TCPSocket: &api.TCPSocket{Port: port}})
	spec.NetworkMode, spec.Command = "host", []string{testimage.Program, "-port", fmt.Sprint(port)}
	return spec
}

// setProbeAnswer makes a pod's server answer its probes with a status from now on.
func (m *machine) setProbeAnswer(task api.Task, code int) {
	m.t.Helper()
	url := fmt.Sprintf("http://%s:8080/health?code=%d", m.status(task).Address, code)
	request, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	_ = response.Body.Close()
}

func (m *machine) untilUnready(task api.Task) api.TaskStatus {
	m.t.Helper()
	return m.until(task, "unready", func(s api.TaskStatus) bool {
		return !s.Ready && s.Probes["readiness"].Phase == api.ProbeUnhealthy
	})
}

// TestDockerProbes runs every type of probe against real containers, with every kind of answer.
func TestDockerProbes(t *testing.T) {
	m := newMachine(t, "")
	m.start()
	defer func() { m.stop() }()
	hangs := httpGet("/hang")
	hangs.Timeout = "100ms"
	goesOn := execs("ignore-term")
	goesOn.Timeout = "100ms"
	cases := map[string]struct {
		probe api.Probe
		why   string // it is not ready; empty where it is
	}{
		"http 200":      {httpGet("/healthz"), ""},
		"http redirect": {httpGet("/redirect"), ""},
		"http 404":      {httpGet("/nothing"), "GET :8080/nothing answered 404"},
		"http hangs":    {hangs, "no answer within 100ms"},
		"http closed": {api.Probe{HTTPGet: &api.HTTPGet{Path: "/", Port: 9}},
			":9 refuses connections; the program listens on 8080"},
		"tcp open": {api.Probe{TCPSocket: &api.TCPSocket{Port: 8080}}, ""},
		"tcp closed": {api.Probe{TCPSocket: &api.TCPSocket{Port: 9}},
			":9 refuses connections; the program listens on 8080"},
		"exec 0": {execs("exit", "0"), ""},
		"exec 1": {execs("cat", "/missing"), "ended with exit code 1: open /missing: no such file or directory"},
		"exec nothing": {api.Probe{Exec: &api.ExecProbe{Command: []string{"/missing"}}},
			"has no program /missing; name a program that it has"},
		"exec goes on":  {goesOn, "still ran after 100ms and was killed"},
		"https to http": {api.Probe{HTTPGet: &api.HTTPGet{Path: "/", Port: 8080, Scheme: "https"}}, "HTTP"},
	}
	tasks := map[string]api.Task{"host network": m.deploySpec(m.onHost(20000 + rand.N(10000)))}
	for name, tc := range cases {
		tasks[name] = m.deploySpec(m.serving(tc.probe))
	}
	m.untilRunning(tasks["host network"])
	for name, tc := range cases {
		if tc.why == "" {
			m.untilRunning(tasks[name])
			continue
		}
		// The first failures may be because the program does not listen yet.
		m.until(tasks[name], name+": unready, for "+tc.why, func(s api.TaskStatus) bool {
			return s.Probes["readiness"].Phase == api.ProbeUnhealthy &&
				strings.Contains(s.Probes["readiness"].Message, tc.why) &&
				s.Reason == "Unready"
		})
	}
}

// TestDockerKillsProbesThatGoOn: a command that ignores signals leaves no process behind, neither after repeated
// attempts nor when the agent stops.
func TestDockerKillsProbesThatGoOn(t *testing.T) {
	m := newMachine(t, "")
	m.start()
	goesOn := execs("ignore-term")
	goesOn.Timeout = "100ms"
	task := m.deploySpec(m.serving(goesOn))
	m.untilUnready(task)
	m.untilProcesses(task, 2) // its own, and the current attempt
	m.stop()
	m.untilProcesses(task, 1)
}

// untilProcesses waits until a container has at most that many processes: one that was killed may take a moment to go,
// one that was not never goes.
func (m *machine) untilProcesses(task api.Task, most int) {
	m.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		now := m.processes(task)
		if now <= most {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			m.t.Fatalf("%d processes, want at most %d", now, most)
		}
	}
}

func (m *machine) processes(task api.Task) int {
	return len(strings.Split(m.docker("top", task.ContainerName()), "\n")) - 1
}

// TestDockerProbesFollowTheContainer: readiness comes and goes, through a restart by hand and a new address.
func TestDockerProbesFollowTheContainer(t *testing.T) {
	m := newMachine(t, "")
	m.start()
	defer func() { m.stop() }()
	task := m.deploySpec(m.serving(httpGet("/healthz")))
	before := m.untilRunning(task)
	m.setProbeAnswer(task, 500)
	m.untilUnready(task)
	m.setProbeAnswer(task, 200)
	m.untilRunning(task)

	m.docker("restart", "-t", "1", task.ContainerName())
	m.until(task, "restarted", func(s api.TaskStatus) bool { return s.Incarnations > before.Incarnations && s.Ready })
	m.setProbeAnswer(task, 503)
	m.untilUnready(task)
	m.setProbeAnswer(task, 200)
	m.untilRunning(task)

	// Another container gets its address, and no event of the container reports it.
	m.docker("network", "disconnect", m.network, task.ContainerName())
	m.docker("run", "-d", "--network", m.network, "--label", api.LabelCluster+"="+m.cluster, m.image,
		testimage.Program, "wait")
	connect := exec.Command("docker", "network", "connect", m.network, task.ContainerName())
	if output, err := connect.CombinedOutput(); err != nil &&
		!strings.Contains(string(output), "already exists in network") {
		t.Fatalf("%v: %s", err, output) // the agent may have connected it again before
	}
	after := m.until(task, "ready at its new address",
		func(s api.TaskStatus) bool { return s.Ready && s.Address != before.Address })
	m.setProbeAnswer(task, 500)
	if m.untilUnready(task); after.Incarnations != before.Incarnations+1 {
		t.Errorf("moving it restarted it: %+v", after)
	}
}

// TestDockerProbesSurviveTheAgent: a ready container stays ready, and is probed again.
func TestDockerProbesSurviveTheAgent(t *testing.T) {
	m := newMachine(t, "")
	m.start()
	task := m.deploySpec(m.serving(httpGet("/healthz")))
	before := m.untilRunning(task)
	m.stop()
	m.start()
	defer func() { m.stop() }()
	if after := m.status(task); !after.Ready || after.Probes["readiness"] != before.Probes["readiness"] {
		t.Errorf("before %+v, after %+v", before, after)
	}
	m.setProbeAnswer(task, 500)
	m.untilUnready(task)
}

// TestDockerLivenessKeepsRestarting: the same container is restarted as often as needed, not only once.
func TestDockerLivenessKeepsRestarting(t *testing.T) {
	m := newMachine(t, "")
	m.start()
	defer func() { m.stop() }()
	spec := m.serving(httpGet("/healthz"))
	spec.Probes.Liveness = quick(execs("cat", "/missing"))
	spec.StopGracePeriod = "1s"
	task := m.deploySpec(spec)
	first := m.until(task, "restarted",
		func(s api.TaskStatus) bool { return len(s.LivenessRestarts) == 1 && s.Incarnations == 2 })
	second := m.until(task, "restarted again",
		func(s api.TaskStatus) bool { return len(s.LivenessRestarts) == 2 && s.Incarnations == 3 })
	if second.Container != first.Container || len(second.Exits) > 0 {
		t.Errorf("first %+v, then %+v", first, second)
	}
	if rest := second.LivenessRestarts[1].Sub(second.LivenessRestarts[0]); rest < 10*time.Second {
		t.Errorf("rested %s between restarts, want 10s", rest)
	}
}

// TestDockerKillsExec: the runtime kills a command that keeps running, besides returning its output.
func TestDockerKillsExec(t *testing.T) {
	m := newMachine(t, "")
	m.start()
	defer func() { m.stop() }()
	task := m.deploy("unless-stopped", testimage.Program, "wait")
	m.untilRunning(task)
	running, err := m.agent.Exec(t.Context(), task.ContainerName(),
		runtime.ExecOptions{Command: []string{testimage.Program, "ignore-term"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := running.Stdout().Read(make([]byte, 1)); err != nil { // it runs
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := runtime.Kill(ctx, running); err != nil {
		t.Error(err)
	}
	if processes := m.processes(task); processes != 1 {
		t.Errorf("%d processes, want 1", processes)
	}
	if err := running.(runtime.Killer).Kill(ctx); err != nil {
		t.Errorf("killing what has ended: %v", err)
	}
}
