package autoscaler

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var web = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}

// harness is a store with one deployment, whose pods' use the test sets.
type harness struct {
	t       *testing.T
	store   *memory.Store
	view    *view.View
	now     time.Time
	cpu     float64
	unknown bool
	holder  string
	refuse  bool
	// dies has the server end when it is to scale, after that was noted.
	dies   bool
	asked  []string
	steps  []int
	after  time.Duration
	writes int
}

// inHarness runs a test in a synctest bubble.
func inHarness(t *testing.T, test func(l *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newHarness(t)) })
}

func newHarness(t *testing.T) *harness {
	l := &harness{t: t, store: memory.New(), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	l.view = view.New(l.store, view.Options{Decode: records.Decode, Indexes: records.Indexes,
		Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = l.view.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = l.store.Close() })
	<-l.view.Synced()
	return l
}

// Commit makes the harness the controller's store. It returns once the view shows the write.
func (l *harness) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	revision, err := l.store.Commit(ctx, txn)
	if err == nil {
		l.writes++
		err = l.view.WaitFor(ctx, revision)
	}
	return revision, err
}

func (l *harness) put(key string, record any) {
	l.t.Helper()
	if _, err := records.NewTxn("test").Put(key, record).Commit(l.t.Context(), l); err != nil {
		l.t.Fatal(err)
	}
}

func (l *harness) snapshot() records.Snapshot { return records.Snapshot{Reader: l.view.Snapshot()} }

// deploy stores the deployment with that many replicas, all of them ready.
func (l *harness) deploy(replicas int, autoscale *api.Autoscale) {
	l.t.Helper()
	raw, _ := json.Marshal(api.DeploymentSpec{Replicas: &replicas, Autoscale: autoscale})
	l.put(records.ObjectKey(web), api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: raw,
		Metadata: api.Metadata{UID: "uid", Generation: int64(replicas)}})
	l.put(records.StatusKey(web), api.WorkloadStatus{ObservedGeneration: int64(replicas),
		Rollout: &api.RolloutStatus{Phase: api.RolloutComplete}})
	for i := range replicas {
		l.pod(string(rune('a'+i)), l.now.Add(-time.Minute))
	}
}

func (l *harness) pod(id string, readyAt time.Time) {
	l.put(records.TaskKey(id), api.Task{ID: id, Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: id,
		Desired: api.DesiredRunning})
	l.put(records.TaskStatusKey(id), api.TaskStatus{ID: id, State: api.TaskRunning,
		StartedAt: l.now.Add(-2 * time.Minute), ReadyAt: readyAt})
}

// process is an autoscaler in a process of its own.
type process struct {
	*control.Shell
	// woken says that a call has ended.
	woken bool
}

// autoscaler returns an autoscaler as a new process on the same store has it.
func (l *harness) autoscaler() *process {
	ctx, kill := context.WithCancel(l.t.Context())
	deps := control.Deps{Snapshot: l.snapshot, Store: l, Now: func() time.Time { return l.now }}
	p := &process{Shell: control.New(deps, Kind(deps, Options{
		Load: func(_ context.Context, tasks []string) []Sample {
			l.asked = tasks
			return slices.Repeat([]Sample{{CPUPercent: l.cpu, Known: !l.unknown}}, len(tasks))
		},
		Holder: func(api.Object) string { return l.holder },
		Scale: func(ctx context.Context, _ Deployment, replicas int) error {
			if l.dies {
				kill()
				<-ctx.Done()
				return ctx.Err()
			}
			if l.refuse {
				return ErrRefused
			}
			l.steps = append(l.steps, replicas)
			spec, _ := api.DecodeSpec[api.DeploymentSpec](*l.snapshot().Object(web).Value)
			l.deploy(replicas, spec.Autoscale)
			return nil
		},
	}))}
	go func() { _ = p.Source(ctx, func(keys ...reconciler.Key) { p.woken = len(keys) > 0 }) }()
	synctest.Wait()
	return p
}

// look reconciles the deployment until no call is under way.
func (l *harness) look(p *process) {
	l.t.Helper()
	for p.woken = true; p.woken; synctest.Wait() {
		p.woken = false
		result, err := p.Reconcile(l.t.Context(), control.Key(Ref(web)))
		if err != nil {
			l.t.Fatal(err)
		}
		if l.after = result.After; l.after != 0 && l.after != DefaultInterval {
			l.t.Errorf("the next look is in %s", l.after)
		}
	}
	if !l.dies && len(p.Dirty(l.now)) > 0 {
		l.t.Error("it needs something more")
	}
}

func (l *harness) status() *api.AutoscaleStatus { return l.snapshot().AutoscaleStatus(web).Value }

var bounds = &api.Autoscale{Min: 1, Max: 5, CPUTarget: 50}

func TestScalesByTheLoadOfItsPods(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.deploy(2, bounds)
		l.pod("starts", time.Time{})
		l.pod("again", l.now.Add(-3*time.Minute)) // it was ready, and has started again since
		a := l.autoscaler()
		l.cpu = 90
		l.look(a)
		if slices.Sort(l.asked); !slices.Equal(l.asked, []string{"a", "b", "c"}) || !slices.Equal(l.steps, []int{3}) {
			t.Errorf("asked for %v, steps %v", l.asked, l.steps)
		}
		if s := l.status(); s.Replicas != 3 || s.CPUPercent != 90 || s.Pods != 3 || s.LastUp != l.now {
			t.Errorf("status %+v", s)
		}
		l.now = l.now.Add(15 * time.Second)
		l.look(a)
		if len(l.steps) != 1 {
			t.Errorf("a second step within the cooldown: %v", l.steps)
		}
	})
}

// TestARestartKeepsTheCooldowns: a new process reads the cooldowns from the store, also after a crash between note and
// step.
func TestARestartKeepsTheCooldowns(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.deploy(2, bounds)
		l.cpu = 90
		l.dies = true
		l.look(l.autoscaler())
		l.dies = false
		if len(l.steps) != 0 || l.status().LastUp != l.now {
			t.Fatalf("steps %v, status %+v", l.steps, l.status())
		}
		l.now = l.now.Add(15 * time.Second)
		l.look(l.autoscaler())
		if len(l.steps) != 0 {
			t.Errorf("the restart forgot the cooldown: %v", l.steps)
		}
		l.now = l.now.Add(15 * time.Second)
		l.look(l.autoscaler())
		if !slices.Equal(l.steps, []int{3}) {
			t.Errorf("after the cooldown: %v", l.steps)
		}
	})
}

// TestARefusedStepCostsNoCooldown: nothing was scaled, so the next reconcile may scale; earlier steps still count.
func TestARefusedStepCostsNoCooldown(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.deploy(2, bounds)
		l.cpu, l.refuse = 90, true
		before := l.now.Add(-time.Hour)
		l.put(records.AutoscaleKey(web), api.AutoscaleStatus{LastUp: before, LastDown: before})
		a := l.autoscaler()
		l.look(a)
		if s := l.status(); len(l.steps) != 0 || s.LastUp != before || s.LastDown != before || s.Replicas != 2 {
			t.Errorf("steps %v, status %+v", l.steps, s)
		}
		l.refuse, l.now = false, l.now.Add(DefaultInterval)
		l.look(a)
		if s := l.status(); !slices.Equal(l.steps, []int{3}) || s.LastUp != l.now {
			t.Errorf("steps %v, status %+v", l.steps, s)
		}
	})
}

// TestWritesLittle: hours of a steady load cause only a few writes.
func TestWritesLittle(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.deploy(2, bounds)
		l.cpu = 50
		a := l.autoscaler()
		before := l.writes
		for i := range 240 { // an hour
			l.cpu = 50 + 0.3*float64(i%3)
			l.now = l.now.Add(15 * time.Second)
			l.look(a)
		}
		if wrote := l.writes - before; wrote != 1 {
			t.Errorf("an hour of the same load was written %d times", wrote)
		}
	})
}

func TestHoldsStill(t *testing.T) {
	for name, tc := range map[string]struct {
		set    func(*harness)
		reason string
	}{
		"no stats": {func(l *harness) { l.unknown = true }, "NoStats"},
		"held":     {func(l *harness) { l.holder = api.ManagerApply }, "ReplicasHeld"},
		"refused":  {func(l *harness) { l.refuse = true }, api.ReasonRefused},
		"rolling": {func(l *harness) {
			l.put(records.StatusKey(web), api.WorkloadStatus{ObservedGeneration: 2,
				Rollout: &api.RolloutStatus{Phase: api.RolloutProgressing}})
		}, "RolloutInProgress"},
		"not looked": {func(l *harness) { l.put(records.StatusKey(web), api.WorkloadStatus{ObservedGeneration: 1}) },
			"RolloutInProgress"},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(l *harness) {
				l.deploy(2, bounds)
				l.cpu = 90
				tc.set(l)
				l.look(l.autoscaler())
				if len(l.steps) != 0 || l.status().Reason != tc.reason {
					t.Errorf("steps %v, status %+v", l.steps, l.status())
				}
			})
		})
	}
}

// TestForgets: without the autoscale block, or without the deployment, no status is left.
func TestForgets(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.deploy(2, bounds)
		p := l.autoscaler()
		l.look(p)
		l.deploy(2, nil)
		if keys := p.Keys(); len(keys) != 1 {
			t.Errorf("keys %v", keys)
		}
		if l.look(p); l.after != 0 || l.status() != nil {
			t.Errorf("again after %s, status %+v", l.after, l.status())
		}
		l.put(records.AutoscaleKey(web), api.AutoscaleStatus{})
		if _, err := records.NewTxn("test").Delete(records.ObjectKey(web)).Commit(l.t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if keys := p.Keys(); len(keys) != 1 {
			t.Errorf("keys of what is gone %v", keys)
		}
		if l.look(p); l.status() != nil || len(p.Keys()) != 0 {
			t.Errorf("status %+v", l.status())
		}
	})
}
