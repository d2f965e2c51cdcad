package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/agent"
	"tend.dev/tend/internal/node/ingress"
	"tend.dev/tend/internal/node/ingress/certs"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// gate is a proxy that only records its calls, and drains when the test says so.
type gate struct {
	mu     sync.Mutex
	log    []string // what happened, in order
	table  []string // the pods of the newest table
	finish chan struct{}
	// plain and secure are the addresses of its listeners.
	plain, secure string
}

func newGate() *gate { return &gate{finish: make(chan struct{})} }

func (g *gate) note(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.log = append(g.log, what)
}

// Update implements agent.Edge.
func (g *gate) Update(routes []ingress.Route, _ []certs.Policy) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var table []string
	for _, route := range routes {
		for _, pod := range route.Pods {
			table = append(table, pod.Name)
		}
	}
	for _, pod := range g.table {
		if !slices.Contains(table, pod) {
			g.log = append(g.log, pod+" left the table")
		}
	}
	g.table = table
}

// Drained implements agent.Edge.
func (g *gate) Drained(ctx context.Context, pod string) error {
	g.note(pod + " drains")
	select {
	case <-g.finish:
		g.note(pod + " is drained")
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Listeners implements agent.Edge.
func (g *gate) States() (plain, secure ingress.ListenerState) {
	return ingress.ListenerState{Address: g.plain}, ingress.ListenerState{Address: g.secure}
}

func (g *gate) Ports() map[string]ingress.ListenerState { return nil }

// Certificate implements agent.Edge.
func (g *gate) Certificate(string) (certs.State, bool) { return certs.State{}, false }

// Run implements agent.Edge.
func (g *gate) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (g *gate) happened() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.log)
}

func (g *gate) serves(pod string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Contains(g.table, pod)
}

// served starts a harness whose node serves a pod of shop/web, with a drain time.
func served(t *testing.T, drain api.Duration) (*harness, *gate, api.Task) {
	t.Helper()
	l, g := newHarness(t), newGate()
	l.edge = g
	l.engine.Before(func(verb, _ string) error {
		if verb == "stop" {
			g.note("the container is stopped")
		}
		return nil
	})
	spec := api.DeploymentSpec{Container: api.Container{Image: image}, Strategy: &api.Strategy{Drain: drain}}
	l.route(spec)
	l.start()
	task := l.deploy(taskID(1), func(_ *api.Task, s *api.DeploymentSpec) { s.Strategy = spec.Strategy })
	l.settle()
	if !g.serves(task.ContainerName()) {
		t.Errorf("a pod that runs is not served: %+v", l.status(task))
	}
	return l, g, task
}

// route declares shop/web, and an ingress to it.
func (l *harness) route(spec api.DeploymentSpec) {
	l.t.Helper()
	for kind, value := range map[api.Kind]any{api.KindDeployment: spec,
		api.KindIngress: api.IngressSpec{Host: "shop.test", Port: 80}} {
		raw, err := json.Marshal(value)
		l.must(err)
		object := api.Object{Kind: kind, Scope: "shop", Name: "web", Spec: raw}
		l.commit(records.NewTxn("test").Put(records.ObjectKey(object.Ref()), object))
	}
}

func (g *gate) want(t *testing.T, want ...string) {
	t.Helper()
	if got := g.happened(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAPodIsDrainedBeforeItStops: it is removed from the table, finishes its requests, and only then is stopped.
func TestAPodIsDrainedBeforeItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g, task := served(t, "30s")
		defer l.close()
		pod := task.ContainerName()
		l.raise(task, api.DesiredShutdown)
		l.pass(5 * time.Second)
		g.want(t, pod+" left the table", pod+" drains")
		close(g.finish)
		l.settle()
		g.want(t, pod+" left the table", pod+" drains", pod+" is drained", "the container is stopped")
		l.want(task, api.TaskShutdown, false, "Shutdown")
	})
}

// TestDrainingIsBounded: requests that don't end keep a pod for its drain time.
func TestDrainingIsBounded(t *testing.T) {
	for drain, wait := range map[api.Duration]time.Duration{"3s": 3 * time.Second, "": api.DefaultDrain, "0s": 0} {
		synctest.Test(t, func(t *testing.T) {
			l, g, task := served(t, drain)
			defer l.close()
			pod := task.ContainerName()
			stopped := func() bool { return slices.Contains(g.happened(), "the container is stopped") }
			l.raise(task, api.DesiredShutdown) // settles for 10 ms
			if wait > 0 {
				if l.pass(wait - time.Second); stopped() {
					t.Errorf("drain %q: it was stopped before its time", drain)
				}
				l.pass(time.Second)
			}
			if !stopped() || g.serves(pod) {
				t.Errorf("drain %q: %q", drain, g.happened())
			}
		})
	}
}

// TestAFrozenSlotDrainsToo.
func TestAFrozenSlotDrainsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g, task := served(t, "30s")
		defer l.close()
		pod := task.ContainerName()
		l.freeze(task)
		g.want(t, pod+" left the table", pod+" drains")
		close(g.finish)
		l.settle()
		g.want(t, pod+" left the table", pod+" drains", pod+" is drained", "the container is stopped")
	})
}

// TestAPodThatEndsLeavesTheTableAtOnce: also before the control plane knows of it.
func TestAPodThatEndsLeavesTheTableAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, g, task := served(t, "")
		defer l.close()
		l.store.failing(errors.New("the store is away"))
		l.must(l.engine.Exit(task.ContainerName(), 1))
		synctest.Wait()
		if g.serves(task.ContainerName()) {
			t.Errorf("it is still served: %q", g.happened())
		}
		if status := l.status(task); !status.Ready {
			t.Errorf("the control plane has heard of it: %+v", status)
		}
		l.store.failing(nil)
		l.pass(time.Minute)
		if !g.serves(task.ContainerName()) {
			t.Errorf("it runs again, and is not served: %+v", l.status(task))
		}
	})
}

// TestAnUnreadyPodIsNotServed: a pod leaves the table when its probe has failed, and returns when it passes again.
func TestAnUnreadyPodIsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, g := newPatient(), newGate()
		l := newHarness(t, p.engine())
		l.edge = g
		l.route(api.DeploymentSpec{Container: api.Container{Image: image}})
		l.start()
		defer l.close()
		task := l.deploy(taskID(1), probed("readiness"))
		for _, fails := range []bool{false, true, false} {
			p.set(fails, "readiness")
			l.pass(4 * time.Second)
			l.wantContainer(task, runtime.StateRunning)
			if g.serves(task.ContainerName()) == fails {
				t.Errorf("with a probe that fails (%t): %q, %+v", fails, g.happened(), l.status(task))
			}
		}
	})
}

var _ agent.Edge = (*gate)(nil)

// TestNothingIsServedThatThisProcessHasNotObserved: the server starts while the engine is away. The stored state of its
// pods is as old as the last server, so none serves until the engine has answered. Once observed, a pod keeps serving
// while the engine is away, for as long as its process runs.
func TestNothingIsServedThatThisProcessHasNotObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, task := served(t, "1s")
		defer l.close()
		if !l.agent.Observed(task.ID) {
			t.Error("a pod that runs is not observed")
		}
		l.stop()
		l.engine.Disconnect()
		g := newGate()
		l.edge = g
		l.start()
		l.pass(6 * time.Second)
		if status := l.status(task); !status.Ready || status.Address == "" {
			t.Fatalf("the store says nothing that could be believed: %+v", status)
		}
		if g.serves(task.ContainerName()) || l.agent.Observed(task.ID) {
			t.Error("a pod is served by what an earlier process stored")
		}
		l.engine.Reconnect()
		l.pass(6 * time.Second)
		if !g.serves(task.ContainerName()) || !l.agent.Observed(task.ID) {
			t.Error("the engine has answered, and the pod is not served")
		}
		l.engine.Disconnect()
		l.pass(time.Minute)
		if !g.serves(task.ContainerName()) || !l.agent.Observed(task.ID) {
			t.Error("the engine went away, and with it a pod that was observed")
		}
		l.must(l.engine.Exit(task.ContainerName(), 1))
		synctest.Wait()
		if g.serves(task.ContainerName()) || l.agent.Observed(task.ID) {
			t.Error("its process has ended while the engine is away, and it is served where another may be now")
		}
		l.engine.Reconnect()
		l.pass(6 * time.Second)
	})
}
