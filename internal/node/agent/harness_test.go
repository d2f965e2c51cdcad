package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/ports"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/agent/keptlogs"
	"tend.dev/tend/internal/node/agent/prober"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/local"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

const (
	nodeID  = "n1"
	cluster = "c0ffee"
	image   = "web:1"
)

// harness is one machine with a store and a simulated engine that outlive the server on it. It runs in a synctest
// bubble.
type harness struct {
	t       *testing.T
	store   *countingStore
	engine  *hollow.Engine
	imageID string
	// digest is the one that the image of releases has in a registry, if it has one.
	digest string
	// build is the source of the releases' image; nil if it was not built.
	build *api.ImageBuild

	// deaf is set while events are lost on their way to the agent.
	deaf atomic.Bool
	// brief is set while each stream of events ends at once; streams counts them.
	brief   atomic.Bool
	streams atomic.Int64
	// mute is set while the answers to creations are lost.
	mute atomic.Bool
	// outputDelay is the time that the engine takes to return a container's output.
	outputDelay atomic.Int64
	// writers is called, if set, when the agent asks for all second writers; its error is the answer.
	writers func(context.Context) error
	// memory is the folder of secret files; env the merged environment of releases, as JSON.
	memory, env string
	// builder builds images, if it is set.
	builder agent.Builder
	asker   prober.Asker // nil probes the containers
	// imageOf reads an image of another node; nil if there is none.
	imageOf func(ctx context.Context, on, image string, has node.Part) (io.ReadCloser, error)
	// spool is the folder of images that are on their way; empty for none.
	spool string
	// hold keeps the agent from touching containers until it is closed; nil for one that may.
	hold chan struct{}
	// kept is the folder of the logs of removed containers; empty for none.
	kept string
	// room returns the free bytes of their disk; nil for that of the machine.
	room func(*os.File) (int64, error)
	// listeners are Tend's own on the machine.
	listeners []ports.Listener
	// edge is the node's proxy; nil if it has none.
	edge *gate
	// reading is called, if set, after a task was read and before the agent has it.
	reading func(task string)
	// beating is called, if set, for each heartbeat that the agent sends, with how long it is to last.
	beating func(lasts time.Duration)
	// lease is the validity of a heartbeat by the server's word; 0 for a server that doesn't say.
	lease time.Duration
	// former are the names of the machine's node in ended memberships; cleared counts how often nothing was left of them.
	former  []string
	cleared atomic.Int64
	view    *view.View
	agent   *agent.Agent
	stop    func()
	// confined releases are those of a deployer; pulled is called with each pull.
	confined bool
	pulled   func(runtime.PullSpec)
	// looking delays the engine's answer about an image, in nanoseconds.
	looking atomic.Int64
}

func newHarness(t *testing.T, opts ...hollow.Options) *harness {
	l := &harness{t: t, store: &countingStore{Store: memory.New()}, engine: hollow.NewEngine(opts...),
		env: `{"COLOUR":"blue"}`}
	l.imageID = l.engine.AddImage(image)
	return l
}

// start boots the server's half and the agent.
func (l *harness) start() {
	l.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	logger := slog.New(slog.DiscardHandler)
	l.view = view.New(l.store, view.Options{Decode: records.Decode, Indexes: records.Indexes, Logger: logger})
	control, disconnect := l.connect(local.New(local.Options{Store: l.store, View: l.view, Keys: plain{},
		ImageOf: l.imageOf}), logger)
	rt := &deaf{Runtime: l.engine.Client(cluster, nodeID), events: &l.deaf, mute: &l.mute,
		outputDelay: &l.outputDelay, writers: l.writers, pulled: l.pulled, looking: &l.looking,
		brief: &l.brief, streams: &l.streams}
	opts := agent.Options{Node: nodeID, Control: &slow{control, l}, Runtime: rt, Logger: logger, Memory: l.memoryFolder,
		Builder: l.builder, Ask: l.asker, Spool: l.spool, Room: l.room,
		Listeners: func(context.Context) []ports.Listener { return l.listeners },
		Former:    l.former, Cleared: func() error { l.cleared.Add(1); return nil }}
	if l.hold != nil {
		opts.Hold, opts.Paused = l.hold, func() string { return "a restore" }
	}
	if l.kept != "" {
		store, err := keptlogs.Open(keptlogs.Options{Dir: l.kept, Seal: unsealed, Unseal: unsealed})
		if err != nil {
			l.t.Fatal(err)
		}
		opts.KeptLogs = store
	}
	if l.edge != nil {
		l.commit(records.NewTxn("test").Put(records.MemberKey(nodeID), records.Member{UID: "here", Ingress: true}))
		opts.Edge = func(func()) agent.Edge { return l.edge }
	}
	l.agent = agent.New(opts)
	var running sync.WaitGroup
	running.Go(func() { _ = l.view.Run(ctx) })
	agentCtx, stopAgent := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- l.agent.Run(agentCtx) }()
	l.stop = func() {
		stopAgent()
		if err := <-ended; err != nil {
			l.t.Errorf("the agent stopped with %v", err)
		}
		disconnect()
		cancel()
		running.Wait()
		_ = rt.Close()
	}
	l.settle()
}

func (l *harness) memoryFolder(bool) (string, error) {
	if l.memory == "" {
		return "", errors.New("there is none")
	}
	return l.memory, nil
}

// settle waits until everything under way has settled, and the short waits of batches and retries have passed.
func (l *harness) settle() {
	synctest.Wait()
	l.pass(10 * time.Millisecond)
}

func (l *harness) pass(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}

// close ends the harness; the last call of a test.
func (l *harness) close() {
	l.stop()
	l.engine.Close()
	_ = l.store.Close()
}

func (l *harness) commit(txn *records.Txn) {
	l.t.Helper()
	if _, err := txn.Commit(context.Background(), l.store); err != nil {
		l.t.Fatal(err)
	}
}

// deploy stores a release and a task of it.
func (l *harness) deploy(id string, change func(*api.Task, *api.DeploymentSpec)) api.Task {
	l.t.Helper()
	task := api.Task{
		ID: id, Kind: api.KindDeployment, Scope: "shop", Name: "web", Slot: id, Release: "v-" + id, Class: api.ClassKeep,
		Node: nodeID, Desired: api.DesiredRunning, CreatedAt: time.Now(),
	}
	spec := api.DeploymentSpec{Container: api.Container{Image: image}}
	if change != nil {
		change(&task, &spec)
	}
	raw, _ := json.Marshal(spec)
	release := api.Release{
		ID: task.Release, Kind: task.Kind, Scope: task.Scope, Name: task.Name, Spec: raw, Image: spec.Image,
		ImageID: l.imageID, ImageDigest: l.digest, Build: l.build, Env: []byte(l.env), Confined: l.confined,
	}
	l.commit(records.NewTxn("test").Put(records.ReleaseKey(task.Owner(), release.ID), release).CreateTask(task))
	return task
}

func (l *harness) raise(task api.Task, desired api.DesiredState) {
	l.t.Helper()
	snap := l.snapshot()
	l.commit(records.NewTxn("test").RaiseTask(snap.Task(task.ID), desired, "test", time.Now()))
	l.settle()
}

func (l *harness) freeze(task api.Task) {
	l.t.Helper()
	l.commit(records.NewTxn("test").Put(records.FrozenKey(task.Owner(), task.Slot), api.Frozen{Slot: task.Slot}))
	l.settle()
}

func (l *harness) thaw(task api.Task) {
	l.t.Helper()
	l.commit(records.NewTxn("test").Delete(records.FrozenKey(task.Owner(), task.Slot)))
	l.settle()
}

func (l *harness) snapshot() records.Snapshot { return records.Snapshot{Reader: l.view.Snapshot()} }

func (l *harness) status(task api.Task) api.TaskStatus {
	if read := l.snapshot().TaskStatus(task.ID); read.Exists() {
		return *read.Value
	}
	return api.TaskStatus{}
}

// container returns a task's container from the engine, in any state; the zero value if there is none.
func (l *harness) container(task api.Task) runtime.Container {
	for _, c := range l.engine.Containers() {
		if c.Name == task.ContainerName() {
			return c
		}
	}
	return runtime.Container{}
}

func (l *harness) want(task api.Task, state api.TaskState, ready bool, reason string) {
	l.t.Helper()
	if got := l.status(task); got.State != state || got.Ready != ready || got.Reason != reason {
		l.t.Errorf("task %s is %q ready=%v %q (%s), want %q ready=%v %q",
			task.ID, got.State, got.Ready, got.Reason, got.Message, state, ready, reason)
	}
}

func (l *harness) wantContainer(task api.Task, state runtime.State) runtime.Container {
	l.t.Helper()
	c := l.container(task)
	if c.State != state {
		l.t.Errorf("container of %s is %q, want %q", task.ID, c.State, state)
	}
	return c
}

// must fails the test on an error of a call by hand.
func (l *harness) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// plain stands in for keys; it leaves values in plain text.
type plain struct{}

func (plain) Decrypt(sealed []byte) ([]byte, error) { return sealed, nil }

// countingStore records the commits and their writers, and can be made to fail.
type countingStore struct {
	store.Store
	mu      sync.Mutex
	commits []store.Txn
	fail    error
}

func (s *countingStore) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	s.mu.Lock()
	s.commits = append(s.commits, txn)
	fail := s.fail
	s.mu.Unlock()
	if fail != nil && txn.Site == "agent.report" {
		return 0, fail
	}
	return s.Store.Commit(ctx, txn)
}

func (s *countingStore) failing(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// reports returns the agent's commits since the last call.
func (s *countingStore) reports() []store.Txn {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.DeleteFunc(slices.Clone(s.commits), func(txn store.Txn) bool { return txn.Site != "agent.report" })
	s.commits = nil
	return out
}

func taskID(i int) string { return fmt.Sprintf("%08x", i) }

// slow lets things happen while the agent reads.
type slow struct {
	nodeapi.Control
	harness *harness
}

func (s *slow) Lease() time.Duration { return s.harness.lease }

func (s *slow) Alive(ctx context.Context, lasts time.Duration) error {
	if s.harness.beating != nil {
		s.harness.beating(lasts)
	}
	return s.Control.Alive(ctx, lasts)
}

func (s *slow) Task(id string) (node.Assignment, bool) {
	assigned, known := s.Control.Task(id)
	if s.harness.reading != nil {
		s.harness.reading(id)
	}
	return assigned, known
}

// unsealed stands for the encryption of kept logs: it returns content as it is.
func unsealed(content []byte) ([]byte, error) { return content, nil }
