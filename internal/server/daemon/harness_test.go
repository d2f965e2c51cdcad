package daemon

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/test/fault"
)

// machine is a store, an engine and a root that outlive the servers started over them.
type machine struct {
	t      *testing.T
	root   string
	store  store.Store
	engine *hollow.Engine
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	// A socket's path is short: the test's own folder is too deep.
	root, err := os.MkdirTemp("", "tend")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, root: root, store: memory.New(), engine: hollow.NewEngine()}
	t.Cleanup(func() {
		m.engine.Close()
		_ = m.store.Close()
		_ = os.RemoveAll(root)
	})
	return m
}

// running is one server over a machine.
type running struct {
	*machine
	client *client.Client
	cancel context.CancelFunc
	done   chan error
}

// kept is a store that only the machine closes.
type kept struct{ store.Store }

func (kept) Close() error { return nil }

// start runs a server and waits until it is ready, unless a fault crashes it before.
func (m *machine) start(faults *fault.Points) *running {
	m.t.Helper()
	return m.startWith(func(o *Options) { o.AroundStore, o.AroundRuntime = faults.Store, faults.Runtime })
}

// startWith is start with options of the test's own.
func (m *machine) startWith(edit func(*Options)) *running {
	m.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	logger := slog.New(slog.NewTextHandler(logWriter(m.t), &slog.HandlerOptions{Level: slog.LevelInfo}))
	r := &running{machine: m, cancel: cancel, done: make(chan error, 1)}
	options := Options{
		Options: host.Options{
			Root: m.root, Node: "n1", Runtime: "hollow", Logger: logger,
			Engine: func(cluster, node string) (runtime.Runtime, error) { return m.engine.Client(cluster, node), nil },
		},
		HTTP: "off", Store: kept{m.store},
	}
	edit(&options)
	go func() { r.done <- Run(ctx, options) }()
	c, err := client.New(client.Options{Server: "unix://" + filepath.Join(m.root, "tend.sock")})
	if err != nil {
		m.t.Fatal(err)
	}
	r.client = c
	m.t.Cleanup(func() { r.stop(); c.Close() })
	return r
}

func logWriter(t *testing.T) io.Writer {
	if testing.Verbose() {
		return t.Output()
	}
	return io.Discard
}

// stop ends the server and returns its error.
func (r *running) stop() error {
	r.cancel()
	err := <-r.done
	r.done <- err
	return err
}

// until waits for a condition.
func (r *running) until(what string, holds func() bool) {
	r.t.Helper()
	r.untilWithin(time.Minute, what, holds)
}

func (r *running) untilWithin(patience time.Duration, what string, holds func() bool) {
	r.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			r.dump()
			r.t.Fatalf("in vain: %s", what)
		}
	}
}

func (r *running) dump() {
	objects, _ := r.client.Objects(context.Background(), api.KindDeployment, client.ObjectFilter{})
	pods, _ := r.client.Pods(context.Background(), client.PodFilter{})
	for _, v := range []any{objects, pods} {
		out, _ := json.MarshalIndent(v, "", " ")
		r.t.Log(string(out))
	}
}

func (r *running) ready() *running {
	r.t.Helper()
	r.until("the server is ready", func() bool {
		readiness, err := r.client.Readiness(context.Background())
		return err == nil && readiness.Ready
	})
	return r
}

var web = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}

// manifestOf returns a deployment; edit changes its spec.
func manifestOf(ref api.Ref, edit func(*api.DeploymentSpec)) api.Object {
	spec := api.DeploymentSpec{Container: api.Container{Image: "web:1"},
		Strategy: &api.Strategy{Pause: "1ms", Monitor: "1ms"}}
	if edit != nil {
		edit(&spec)
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err)
	}
	return api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: raw}
}

func replicas(n int) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.Replicas = &n }
}

// apply stores a manifest and returns its revision.
func (r *running) apply(object api.Object) int64 {
	r.t.Helper()
	result, err := r.client.Apply(context.Background(), api.ApplyRequest{Objects: []api.Object{object}})
	if err != nil {
		r.t.Fatal(err)
	}
	return result.Objects[0].Revision
}

func (r *running) status(ref api.Ref) (api.WorkloadStatus, bool) {
	object, err := r.client.Object(context.Background(), ref)
	if err != nil {
		return api.WorkloadStatus{}, false
	}
	status, err := api.DecodeStatus[api.WorkloadStatus](object)
	return status, err == nil
}

// converged waits until an object is Ready at a revision.
func (r *running) converged(ref api.Ref, revision int64) api.WorkloadStatus {
	r.t.Helper()
	var status api.WorkloadStatus
	r.untilWithin(patience, ref.String()+" converges", func() bool {
		var ok bool
		status, ok = r.status(ref)
		c := api.FindCondition(status.Conditions, api.ConditionReady)
		return ok && status.ObservedRevision >= revision && c != nil && c.Status == api.ConditionTrue
	})
	return status
}

// live returns the pods of an object that are wanted and run.
func (r *running) live(ref api.Ref) []api.Pod {
	r.t.Helper()
	pods, err := r.client.Pods(context.Background(), client.PodFilter{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name})
	if err != nil {
		r.t.Fatal(err)
	}
	var out []api.Pod
	for _, pod := range pods.Items {
		if pod.Live() {
			out = append(out, pod)
		}
	}
	return out
}
