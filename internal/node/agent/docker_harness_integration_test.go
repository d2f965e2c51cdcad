//go:build integration

package agent_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/agent/keptlogs"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/runtime/docker"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
	"tend.dev/tend/internal/test/testimage"
)

// patience is the time that a condition may take on a busy machine before the test fails.
const patience = 3 * time.Minute

// machine is a real engine with a store.
type machine struct {
	t       *testing.T
	host    string // DOCKER_HOST, empty for the default engine
	cluster string
	network string // its own, where containers have an address; made with the first
	image   string
	store   *memory.Store
	kept    string // the folder of the logs of removed containers; empty for none

	view    *view.View
	agent   *agent.Agent
	stop    func()
	changed chan struct{}
}

func newMachine(t *testing.T, host string) *machine {
	t.Helper()
	if host == "" {
		t.Parallel()
	} else {
		t.Setenv("DOCKER_HOST", host) // which a parallel test may not
	}
	m := &machine{t: t, host: host, cluster: "tendtest-" + random(), store: memory.New()}
	m.network = m.cluster
	m.image = m.cluster + "/server:v1"
	if err := testimage.Ensure(t.Context(), "v1", m.image); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.clean)
	return m
}

// clean removes what this test made, and nothing else.
func (m *machine) clean() {
	ids := strings.Fields(m.docker("ps", "-aq", "--filter", "label="+api.LabelCluster+"="+m.cluster))
	if len(ids) > 0 {
		m.docker(append([]string{"rm", "-f"}, ids...)...)
	}
	if networks := m.docker("network", "ls", "-q", "--filter", "name="+m.network); networks != "" {
		m.docker("network", "rm", m.network)
	}
	if err := testimage.Remove(context.Background(), m.image); err != nil {
		m.t.Error(err)
	}
	_ = m.store.Close()
}

func (m *machine) docker(args ...string) string {
	m.t.Helper()
	output, err := exec.Command("docker", args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, output)
	}
	return strings.TrimSpace(string(output))
}

// goOn is the file that the program of a test image waits for before it continues; goesOn creates it. If the container
// then ends, that may be before the engine answered.
const goOn = "/go"

func (m *machine) goesOn(container string) {
	_ = exec.Command("docker", "exec", container, testimage.Program, "write", goOn, "on").Run()
}

func (m *machine) start() {
	m.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	logger := slog.New(slog.DiscardHandler)
	rt, err := docker.New(ctx, docker.Options{Host: m.host, Cluster: m.cluster, Node: nodeID, NetworkName: m.network})
	if err != nil {
		m.t.Fatal(err)
	}
	m.changed = make(chan struct{}, 1)
	m.view = view.New(m.store, view.Options{Decode: records.Decode, Indexes: records.Indexes, Logger: logger})
	m.view.OnChange(func(view.Change) {
		select {
		case m.changed <- struct{}{}:
		default:
		}
	})
	control := local.New(local.Options{Store: m.store, View: m.view, Keys: plain{}}).Node(nodeID)
	opts := agent.Options{Node: nodeID, Control: control, Runtime: rt, Logger: logger}
	if m.kept != "" {
		if opts.KeptLogs, err = keptlogs.Open(keptlogs.Options{Dir: m.kept, Seal: unsealed, Unseal: unsealed}); err != nil {
			m.t.Fatal(err)
		}
	}
	m.agent = agent.New(opts)
	var running sync.WaitGroup
	running.Go(func() { _ = m.view.Run(ctx) })
	running.Go(func() { _ = m.agent.Run(ctx) })
	m.stop = func() {
		cancel()
		running.Wait()
		_ = rt.Close()
	}
	<-m.view.Synced()
	<-m.agent.Ready()
}

// deploy stores a task of the test server with a command and a restart policy.
func (m *machine) deploy(policy string, command ...string) api.Task {
	m.t.Helper()
	container := api.Container{Image: m.image, Command: command, NetworkMode: "none"}
	return m.deploySpec(api.DeploymentSpec{Container: container, Restart: policy})
}

// deploySpec stores a task of a spec.
func (m *machine) deploySpec(declared api.DeploymentSpec) api.Task {
	m.t.Helper()
	slot := random()
	task := api.Task{
		ID: slot, Kind: api.KindDeployment, Scope: m.cluster, Name: "web", OwnerUID: "uid-" + slot, Slot: slot,
		Release: "v-" + slot,
		Class:   api.ClassKeep, Node: nodeID, Desired: api.DesiredRunning, CreatedAt: time.Now(),
	}
	spec, _ := json.Marshal(declared)
	release := api.Release{ID: task.Release, Kind: task.Kind, Scope: task.Scope, Name: task.Name,
		Spec: spec, Image: m.image}
	txn := records.NewTxn("test").Put(records.ReleaseKey(task.Owner(), release.ID), release).CreateTask(task)
	if _, err := txn.Commit(m.t.Context(), m.store); err != nil {
		m.t.Fatal(err)
	}
	return task
}

func (m *machine) status(task api.Task) api.TaskStatus {
	if read := (records.Snapshot{Reader: m.view.Snapshot()}).TaskStatus(task.ID); read.Exists() {
		return *read.Value
	}
	return api.TaskStatus{}
}

// until waits until a task's status meets a condition.
func (m *machine) until(task api.Task, what string, holds func(api.TaskStatus) bool) api.TaskStatus {
	m.t.Helper()
	deadline := time.After(patience)
	for {
		status := m.status(task)
		if holds(status) {
			return status
		}
		select {
		case <-m.changed:
		case <-deadline:
			m.t.Fatalf("task never became %s: %+v", what, status)
		}
	}
}

func (m *machine) untilRunning(task api.Task) api.TaskStatus {
	m.t.Helper()
	return m.until(task, "running", func(s api.TaskStatus) bool { return s.State == api.TaskRunning && s.Ready })
}

func random() string {
	var raw [4]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}
