package daemon

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// listedBy calls then once, before it lists the containers for a person's call.
type listedBy struct {
	runtime.Runtime
	armed *atomic.Bool
	then  func()
}

// List implements runtime.Runtime.
func (l listedBy) List(ctx context.Context) ([]runtime.Container, error) {
	if ctx.Value(http.ServerContextKey) != nil && l.armed.CompareAndSwap(true, false) {
		l.then()
	}
	return l.Runtime.List(ctx)
}

// TestAResumeStopsNothingThatStartsMeanwhile: a resume after the pause compares the nodes' containers with the store,
// while the controllers start new ones.
func TestAResumeStopsNothingThatStartsMeanwhile(t *testing.T) {
	for _, unknown := range []api.UnknownContainers{api.UnknownStop, ""} {
		m := newMachine(t)
		m.engine.AddImage("web:1")
		var r *running
		armed := &atomic.Bool{}
		r = m.startWith(func(o *Options) {
			o.AroundRuntime = func(engine runtime.Runtime) runtime.Runtime {
				return listedBy{engine, armed, func() { r.converged(web, r.apply(manifestOf(web, replicas(2)))) }}
			}
		}).ready()
		armed.Store(true)
		result, err := r.client.Resume(t.Context(), unknown)
		if err != nil || len(result.Stopped)+len(result.Unknown) > 0 {
			t.Errorf("%q: %+v, %v", unknown, result, err)
		}
		if running := m.runs(); armed.Load() || len(running) != 2 || m.engine.Calls()["stop"] > 0 {
			t.Errorf("%q: %v run, after %v", unknown, running, m.engine.Calls())
		}
	}
}

// TestAResumeStopsNothingThatIsKnownByThen: a container was unknown when it was listed, and its task is stored before
// the resume gets to it.
func TestAResumeStopsNothingThatIsKnownByThen(t *testing.T) {
	m := newMachine(t)
	older := m.restarted(manifestOf(web, replicas(2)))
	m.restore(older)
	m.resumesWithout("n1")
	m.engine.Before(func(verb, _ string) error {
		if verb == "create" {
			return context.Canceled
		}
		return nil
	})
	r := m.startWith(func(o *Options) { o.Name, o.Shared = "a", true }).ready()
	var known string
	m.engine.Before(func(verb, subject string) error {
		if verb != "stop" || known != "" {
			return nil
		}
		for _, c := range m.engine.Containers() {
			if c.Name != subject && c.ID != subject {
				known = c.Name
				task := api.Task{ID: c.Task(), Kind: web.Kind, Scope: web.Scope, Name: "of-no-object", Node: "n1",
					Slot: c.Labels[api.LabelSlot], Desired: api.DesiredRunning}
				if _, err := records.NewTxn("test").CreateTask(task).Commit(context.Background(), m.store); err != nil {
					t.Error(err)
				}
			}
		}
		return nil
	})
	result, err := r.client.Resume(t.Context(), api.UnknownStop)
	if err != nil || known == "" || len(result.Stopped) != 1 || result.Stopped[0] == known {
		t.Fatalf("known %s: %+v, %v", known, result, err)
	}
}
