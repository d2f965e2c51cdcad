package fault_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/node/runtime/runtimetest"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/storetest"
	"tend.dev/tend/internal/test/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestStoreContract: without a crash the decorated store meets the whole contract of its backend.
func TestStoreContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return fault.New(fault.Options{}).Store(memory.New()) })
}

func TestRuntimeContract(t *testing.T) {
	engine := hollow.NewEngine(hollow.Options{Behaviour: program})
	t.Cleanup(engine.Close) // the contract runs in parallel
	engine.AddImage("tendtest/server:v1")
	runtimetest.Run(t, runtimetest.Harness{
		New: func(_ *testing.T, cluster string) runtime.Runtime {
			return fault.New(fault.Options{}).Runtime(engine.Client(cluster, "node-1"))
		},
		Image:     "tendtest/server:v1",
		Program:   []string{"/server"},
		Simulated: true,
		Kill: func(t *testing.T, container runtime.Container) {
			if err := engine.Exit(container.Name, 137); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// program imitates the contract's test program.
func program(spec runtime.ContainerSpec) hollow.Behaviour {
	command := spec.Spec.Command
	switch {
	case slices.Contains(command, "exit"):
		return hollow.Behaviour{Exits: true, ExitCode: int(command[len(command)-1][0] - '0')}
	case slices.Contains(command, "sleep"):
		d, _ := time.ParseDuration(command[len(command)-1])
		return hollow.Behaviour{Exits: true, ExitAfter: d}
	}
	return hollow.Behaviour{IgnoresStop: slices.Contains(command, "ignore-term")}
}

func TestWithoutPointsThereIsNoDecorator(t *testing.T) {
	s, rt := memory.New(), hollow.New(hollow.Options{})
	defer s.Close()
	defer rt.Engine().Close()
	var none *fault.Points
	if none.Store(s) != store.Store(s) || none.Runtime(rt) != runtime.Runtime(rt) {
		t.Error("nil points decorate")
	}
	if err := none.Hit("store.apply.before"); err != nil || none.Crashed() != nil {
		t.Errorf("nil points hit: %v", err)
	}
}

func TestTraceIsInOrder(t *testing.T) {
	var trace []string
	points := fault.New(fault.Options{Trace: func(name string) { trace = append(trace, name) }})
	s, rt := decorated(t, points)
	commit(t.Context(), s, "apply", "/a")
	_, _ = s.Commit(t.Context(), store.Txn{Site: "apply", If: []store.Condition{{Key: "/a"}}}) // a conflict has no after
	id, _ := s.Grant(t.Context(), time.Minute)
	_ = s.KeepAlive(t.Context(), id)
	_ = s.Revoke(t.Context(), id)
	_ = s.Compact(t.Context(), 1)
	_, _ = s.Commit(t.Context(), store.Txn{})
	made, _ := rt.Create(t.Context(), container())
	_ = rt.Start(t.Context(), made.ID)
	_ = rt.Stop(t.Context(), made.ID, 0)
	_ = rt.Remove(t.Context(), made.ID)
	var want []string
	for _, name := range []string{
		"store.apply", "!store.apply", "store.grant", "store.keepalive", "store.revoke", "store.compact", "store.unnamed",
		"runtime.create", "runtime.start", "runtime.stop", "runtime.remove",
	} {
		if name[0] == '!' {
			want = append(want, name[1:]+".before")
			continue
		}
		want = append(want, name+".before", name+".after")
	}
	if diff := cmp.Diff(want, trace); diff != "" {
		t.Error(diff)
	}
}

func TestCrashAtTheNthHit(t *testing.T) {
	for name, tt := range map[string]struct {
		reason string
		crash  string
		at     int
		want   []string // the keys written
	}{
		"before":     {"a crash before the call prevents it", "store.apply.before", 2, []string{"/1"}},
		"after":      {"a crash after the call doesn't undo it", "store.apply.after", 2, []string{"/1", "/2"}},
		"default":    {"without a number the first hit crashes", "store.apply.after", 0, []string{"/1"}},
		"never":      {"a hit that is never reached does nothing", "store.apply.after", 4, []string{"/1", "/2", "/3"}},
		"other name": {"a hit of another point doesn't crash", "store.scale.before", 1, []string{"/1", "/2", "/3"}},
	} {
		t.Run(name, func(t *testing.T) {
			inner := memory.New()
			defer inner.Close()
			s := fault.New(fault.Options{Crash: tt.crash, At: tt.at}).Store(inner)
			crashed := false
			for _, key := range []string{"/1", "/2", "/3"} {
				err := commit(t.Context(), s, "apply", key)
				crashed = crashed || err != nil
				if crashed != errors.Is(err, fault.ErrCrashed) {
					t.Errorf("commit %s after the crash (%t): %v", key, crashed, err)
				}
			}
			page, err := inner.List(t.Context(), "/", store.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, entry := range page.Entries {
				got = append(got, entry.Key)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s: %s", tt.reason, diff)
			}
		})
	}
}

// TestTheDeadDoNothing calls every method of the store and the runtime after a crash.
func TestTheDeadDoNothing(t *testing.T) {
	points := fault.New(fault.Options{Crash: "runtime.start.after"})
	s, rt := decorated(t, points)
	made, err := rt.Create(t.Context(), container())
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Start(t.Context(), made.ID); !errors.Is(err, fault.ErrCrashed) {
		t.Fatalf("start: %v", err)
	}
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"get":       func() error { _, err := s.Get(ctx, "/a"); return err },
		"list":      func() error { _, err := s.List(ctx, "/", store.ListOptions{}); return err },
		"commit":    func() error { return commit(ctx, s, "apply", "/a") },
		"grant":     func() error { _, err := s.Grant(ctx, time.Minute); return err },
		"keepalive": func() error { return s.KeepAlive(ctx, 1) },
		"revoke":    func() error { return s.Revoke(ctx, 1) },
		"compact":   func() error { return s.Compact(ctx, 1) },
		"info":      func() error { _, err := rt.Info(ctx); return err },
		"containers": func() error {
			_, err := rt.List(ctx)
			return err
		},
		"inspect": func() error { _, err := rt.Inspect(ctx, made.ID); return err },
		"create":  func() error { _, err := rt.Create(ctx, container()); return err },
		"start":   func() error { return rt.Start(ctx, made.ID) },
		"stop":    func() error { return rt.Stop(ctx, made.ID, 0) },
		"remove":  func() error { return rt.Remove(ctx, made.ID) },
		"events":  func() error { _, err := rt.Events(ctx); return err },
		"resolve": func() error { _, err := rt.Resolve(ctx, "web:1"); return err },
		"pull":    func() error { _, err := rt.Pull(ctx, runtime.PullSpec{Reference: "web:1"}, nil); return err },
		"logs":    func() error { _, err := rt.Logs(ctx, made.ID, runtime.LogOptions{}); return err },
		"exec":    func() error { _, err := rt.Exec(ctx, made.ID, runtime.ExecOptions{}); return err },
		"stats":   func() error { _, err := rt.Stats(ctx, made.ID); return err },
	} {
		if err := call(); !errors.Is(err, fault.ErrCrashed) {
			t.Errorf("%s after the crash: %v", name, err)
		}
	}
	<-points.Crashed()
}

// TestACrashEndsWhatIsUnderWay: a crash closes streams and unblocks calls.
func TestACrashEndsWhatIsUnderWay(t *testing.T) {
	points := fault.New(fault.Options{Crash: "store.apply.before"})
	s, rt := decorated(t, points)
	watch := s.Watch(t.Context(), "/", 0)
	events, err := rt.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, err := rt.Create(t.Context(), container())
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Start(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error)
	go func() { stopped <- rt.Stop(context.Background(), made.ID, time.Hour) }()
	if err := commit(t.Context(), s, "apply", "/a"); !errors.Is(err, fault.ErrCrashed) {
		t.Fatal(err)
	}
	if err := <-stopped; !errors.Is(err, fault.ErrCrashed) {
		t.Errorf("the stop under way: %v", err)
	}
	for range events { // until it closes
	}
	for range watch.Batches() {
	}
	if err := watch.Err(); !errors.Is(err, fault.ErrCrashed) {
		t.Errorf("the watch ended with %v", err)
	}
}

// decorated returns a decorated store and runtime. The containers of the runtime ignore stops.
func decorated(t *testing.T, points *fault.Points) (store.Store, runtime.Runtime) {
	t.Helper()
	engine := hollow.NewEngine(hollow.Options{Behaviour: func(runtime.ContainerSpec) hollow.Behaviour {
		return hollow.Behaviour{IgnoresStop: true}
	}})
	engine.AddImage("web:1")
	s := points.Store(memory.New())
	t.Cleanup(func() { engine.Close(); _ = s.Close() })
	return s, points.Runtime(engine.Client("c1", "n1"))
}

func commit(ctx context.Context, s store.Store, site, key string) error {
	_, err := s.Commit(ctx, store.Txn{Site: site, Do: []store.Op{{Key: key, Value: []byte("v")}}})
	return err
}

func container() runtime.ContainerSpec {
	return runtime.ContainerSpec{
		Name: "prod-web.1", Image: "web:1",
		Labels: map[string]string{api.LabelTask: "t1", api.LabelScope: "prod", api.LabelName: "web", api.LabelSlot: "1"},
	}
}
