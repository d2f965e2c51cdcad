//go:build integration

package agent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/test/testimage"
)

// prepare stores a task with init containers; main is its command.
func (m *machine) prepare(main []string, change func(*api.DeploymentSpec), inits ...api.Init) api.Task {
	m.t.Helper()
	slot := random()
	task := api.Task{
		ID: slot, Kind: api.KindDeployment, Scope: m.cluster, Name: "web", Slot: slot, Release: "v-" + slot,
		Class: api.ClassKeep, Node: nodeID, Desired: api.DesiredRunning, CreatedAt: time.Now(),
	}
	spec := api.DeploymentSpec{Container: api.Container{Image: m.image, Command: main, StopGracePeriod: "1s"},
		Inits: inits}
	if change != nil {
		change(&spec)
	}
	raw, _ := json.Marshal(spec)
	release := api.Release{ID: task.Release, Kind: task.Kind, Scope: task.Scope, Name: task.Name,
		Spec: raw, Image: m.image}
	txn := records.NewTxn("test").Put(records.ReleaseKey(task.Owner(), release.ID), release).CreateTask(task)
	if _, err := txn.Commit(m.t.Context(), m.store); err != nil {
		m.t.Fatal(err)
	}
	return task
}

func (m *machine) initsOf(task api.Task) []string {
	return strings.Fields(m.docker("ps", "-a", "--filter", "label="+api.LabelTask+"="+task.ID,
		"--filter", "label="+api.LabelRole+"="+api.RoleInit, "--format", "{{.Names}}"))
}

func program(args ...string) []string { return append([]string{testimage.Program}, args...) }

// TestDockerInitsPrepareTheContainer: the main container reads what they write to a volume; they run one after another,
// have no name of the workload, and are gone in the end.
func TestDockerInitsPrepareTheContainer(t *testing.T) {
	m := newMachine(t, "")
	m.start()
	defer func() { m.stop() }()
	since := time.Now().Add(-time.Second)
	volume := m.cluster + "-data"
	task := m.prepare(program("wait"), func(s *api.DeploymentSpec) { s.Volumes = []string{volume + ":/shared"} },
		api.Init{Name: "write", Command: program("write", "/shared/greeting", "hello")},
		api.Init{Name: "check", Command: program("cat", "/shared/greeting")},
		api.Init{Name: "alone", Command: program("await", goOn)},
	)
	m.until(task, "initializing", func(s api.TaskStatus) bool {
		return s.Inits != nil && s.Inits.Next == 2 && !s.Inits.StartedAt.IsZero()
	})
	name := m.cluster + "-web-init-alone-" + task.Slot
	if aliases := m.docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.Aliases}}{{end}}",
		name); strings.Contains(aliases, "web."+m.cluster) {
		t.Errorf("the init container has the aliases %s", aliases)
	}
	m.goesOn(name)
	t.Cleanup(func() {
		m.docker("rm", "-f", task.ContainerName())
		m.docker("volume", "rm", volume)
	})
	m.untilRunning(task)
	if got := m.docker("exec", task.ContainerName(), testimage.Program, "cat", "/shared/greeting"); got != "hello" {
		t.Errorf("the main container reads %q", got)
	}
	m.until(task, "tidy", func(api.TaskStatus) bool { return len(m.initsOf(task)) == 0 })
	m.wantExclusive(task, since, "write", "check", "alone")
}

// wantExclusive reads the engine's events: each init died before the next one started, all before the main container.
func (m *machine) wantExclusive(task api.Task, since time.Time, inits ...string) {
	m.t.Helper()
	events := m.docker("events", "--since", since.Format(time.RFC3339Nano), "--until", time.Now().Format(time.RFC3339Nano),
		"--filter", "label="+api.LabelTask+"="+task.ID, "--filter", "event=start", "--filter", "event=die",
		"--format", "{{.Action}} {{.Actor.Attributes.name}}")
	var want []string
	for _, init := range inits {
		name := m.cluster + "-web-init-" + init + "-" + task.Slot
		want = append(want, "start "+name, "die "+name)
	}
	want = append(want, "start "+task.ContainerName())
	if events != strings.Join(want, "\n") {
		m.t.Errorf("the engine saw\n%s\nwant\n%s", events, strings.Join(want, "\n"))
	}
}

func TestDockerAFailingInit(t *testing.T) {
	m := newMachine(t, "")
	m.start()
	defer func() { m.stop() }()
	task := m.prepare(program("wait"), nil, api.Init{Name: "bad", Command: program("exit", "3"), Retries: 1})
	status := m.until(task, "failed", func(s api.TaskStatus) bool { return s.State == api.TaskFailed })
	if status.Reason != "InitFailed" || !strings.Contains(status.Message, "init bad exited with 3 (attempt 2 of 2)") {
		t.Errorf("the task failed with %s: %s", status.Reason, status.Message)
	}
	if left := m.initsOf(task); len(left) != 1 {
		t.Errorf("left for inspection are %v, want the failed init", left)
	}
}

func TestDockerAnInitOutOfTime(t *testing.T) {
	m := newMachine(t, "")
	m.start()
	defer func() { m.stop() }()
	task := m.prepare(program("wait"), nil, api.Init{Name: "slow", Command: program("wait"), Timeout: "1s"})
	status := m.until(task, "failed", func(s api.TaskStatus) bool { return s.State == api.TaskFailed })
	if !strings.Contains(status.Message, "took longer than 1s") {
		t.Errorf("the task failed with %s: %s", status.Reason, status.Message)
	}
}

// TestDockerAnAgentFindsItsInit: an agent that stops while an init runs comes back to the same container.
func TestDockerAnAgentFindsItsInit(t *testing.T) {
	m := newMachine(t, "")
	m.start()
	task := m.prepare(program("wait"), nil, api.Init{Name: "long", Command: program("await", goOn)})
	m.until(task, "initializing", func(s api.TaskStatus) bool { return s.Inits != nil && !s.Inits.StartedAt.IsZero() })
	before := m.docker("ps", "-q", "--no-trunc", "--filter", "name="+m.initsOf(task)[0])
	m.stop()
	m.start()
	defer func() { m.stop() }()
	if after := m.docker("ps", "-aq", "--no-trunc", "--filter", "name="+m.initsOf(task)[0]); after != before {
		t.Errorf("the init runs in container %s, was %s", after, before)
	}
	m.goesOn(before)
	status := m.untilRunning(task)
	if status.Inits == nil || !status.Inits.Done || status.Inits.Attempt > 1 {
		t.Errorf("inits are %+v", status.Inits)
	}
}
