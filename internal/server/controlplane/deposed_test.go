package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/kinds/autoscaler"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// office is a store with the parts of a server on it.
type office struct {
	store   *memory.Store
	view    *view.View
	service *verbs.Service
}

func newOffice(t *testing.T) office {
	t.Helper()
	s, quiet := memory.New(), slog.New(slog.DiscardHandler)
	v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes, Logger: quiet})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = v.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait(); _ = s.Close() })
	<-v.Synced()
	return office{s, v, verbs.New(verbs.Options{Store: s, Reader: verbs.FromView{Store: s, View: v}, Logger: quiet})}
}

func (o office) begin(t *testing.T) *Term {
	t.Helper()
	term, err := Begin(t.Context(), o.store)
	if err != nil {
		t.Fatal(err)
	}
	return term
}

func (o office) has(t *testing.T, ref api.Ref) bool {
	_, err := o.store.Get(t.Context(), records.ObjectKey(ref))
	return err == nil
}

// TestADeposedServerAppliesNothing: what controllers apply, prune and delete by the verbs, as syncs do, is committed
// within their term. Once another server has the controllers none of it is stored, but requests of users to the same
// server are.
func TestADeposedServerAppliesNothing(t *testing.T) {
	o := newOffice(t)
	service, term := o.service, o.begin(t)
	web := api.Object{Kind: api.KindIngress, Scope: "shop", Name: "web", Spec: json.RawMessage(`{"host":"a.example"}`)}
	other := web
	other.Name, other.Spec = "other", json.RawMessage(`{"host":"b.example"}`)
	through := verbs.ApplyOptions{Set: "sync:shop/uid", Prune: true,
		FieldManager: verbs.FieldManager{Manager: api.SyncManager("shop"), Through: term}}
	if _, err := service.Apply(t.Context(), []api.Object{web}, through); err != nil {
		t.Fatal(err)
	}
	o.begin(t)
	if _, err := service.Apply(t.Context(), []api.Object{other}, through); !errors.Is(err, ErrDeposed) {
		t.Errorf("an apply that prunes answered %v", err)
	}
	if _, err := service.DeleteWith(t.Context(), verbs.TargetOf(web.Ref()),
		verbs.DeleteOptions{Through: term}); !errors.Is(err, ErrDeposed) {
		t.Errorf("a deletion answered %v", err)
	}
	if !o.has(t, web.Ref()) || o.has(t, other.Ref()) {
		t.Errorf("it deleted %v, it applied %v", !o.has(t, web.Ref()), o.has(t, other.Ref()))
	}
	if _, err := service.Apply(t.Context(), []api.Object{other}, verbs.ApplyOptions{}); err != nil ||
		!o.has(t, other.Ref()) {
		t.Errorf("a user's apply: %v", err)
	}
}

// TestADeposedServerScalesNothing: another server takes over while the autoscaler takes a step. The autoscaler's
// decision is not stored, but a user's scale of the same deployment by the same server is.
func TestADeposedServerScalesNothing(t *testing.T) {
	for reason, c := range map[string]struct {
		deposed bool
		want    int
	}{
		"its own term":             {false, 2},
		"another server took over": {true, 1},
	} {
		t.Run(reason, func(t *testing.T) {
			o := newOffice(t)
			web := o.busy(t)
			err := o.autoscales(t, web, func() {
				if c.deposed {
					o.begin(t)
				}
			})
			if errors.Is(err, ErrDeposed) != c.deposed || !c.deposed && err != nil {
				t.Errorf("the step ended with %v", err)
			}
			if got := o.replicas(t, web); got != c.want {
				t.Errorf("%d replicas, want %d", got, c.want)
			}
			force := verbs.FieldManager{ForceConflicts: true}
			if _, err := o.service.Scale(t.Context(), verbs.TargetOf(web), 3, force); err != nil ||
				o.replicas(t, web) != 3 {
				t.Errorf("a user's scale to 3: %d replicas, %v", o.replicas(t, web), err)
			}
		})
	}
}

// autoscales lets the autoscaler of a new term take a step, on a server whose pods are busy, and returns its error.
// before is called before the step.
func (o office) autoscales(t *testing.T, ref api.Ref, before func()) (err error) {
	t.Helper()
	scaled := false
	plane := New(Options{View: o.view, Logger: slog.New(slog.DiscardHandler), ReplicasHolder: verbs.ReplicasHolder,
		Effects: Effects{
			Load: func(_ context.Context, tasks []string) []autoscaler.Sample {
				return slices.Repeat([]autoscaler.Sample{{CPUPercent: 90, Known: true}}, len(tasks))
			},
			Scale: func(ctx context.Context, term records.Committer, of autoscaler.Deployment, replicas int) error {
				before()
				by := verbs.FieldManager{Manager: api.ManagerAutoscaler, Through: term}
				scaled = true
				_, err = o.service.Scale(ctx, verbs.TargetOf(of.Ref), replicas, by)
				return err
			},
		}})
	key, woken := control.Key(autoscaler.Ref(ref)), make(chan reconciler.Key, 10)
	for _, c := range plane.controllers(o.begin(t)) {
		if c.Name() != key.Kind {
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = c.(control.Source).Source(ctx, func(keys ...reconciler.Key) {
				for _, key := range keys {
					woken <- key
				}
			})
		}()
		for !scaled { // first it measures the load
			if _, err := c.Reconcile(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			<-woken
		}
		cancel()
		<-ended
	}
	return err
}

// busy stores a deployment that is scaled by its load, with one ready pod.
func (o office) busy(t *testing.T) api.Ref {
	t.Helper()
	web := api.Object{Kind: api.KindDeployment, Scope: "shop", Name: "web", Spec: json.RawMessage(
		`{"image":"web:1","autoscale":{"min":1,"max":5,"cpu_target":50}}`)}
	if _, err := o.service.Apply(t.Context(), []api.Object{web}, verbs.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	stored := map[string]any{
		records.StatusKey(web.Ref()): api.WorkloadStatus{ObservedGeneration: 1,
			Rollout: &api.RolloutStatus{Phase: api.RolloutComplete}},
		records.TaskKey("a"): api.Task{ID: "a", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "a",
			Desired: api.DesiredRunning},
		records.TaskStatusKey("a"): api.TaskStatus{ID: "a", State: api.TaskRunning, StartedAt: now, ReadyAt: now},
	}
	for key, record := range stored {
		if _, err := records.NewTxn("test").Put(key, record).Commit(t.Context(), o.store); err != nil {
			t.Fatal(err)
		}
	}
	o.fresh(t)
	return web.Ref()
}

// fresh waits until the view shows what was stored.
func (o office) fresh(t *testing.T) records.Snapshot {
	t.Helper()
	snap, err := verbs.FromView{Store: o.store, View: o.view}.Fresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func (o office) replicas(t *testing.T, ref api.Ref) int {
	t.Helper()
	spec, err := api.DecodeSpec[api.DeploymentSpec](*o.fresh(t).Object(ref).Value)
	if err != nil {
		t.Fatal(err)
	}
	return spec.ReplicaCount()
}
