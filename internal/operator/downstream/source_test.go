package downstream_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"tend.dev/tend/internal/operator/downstream"
)

var kind = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"}

// mapper answers every request with err, if it is set.
type mapper struct {
	meta.RESTMapper
	err   atomic.Pointer[error]
	asked atomic.Int32
}

func (m *mapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	m.asked.Add(1)
	if err := m.err.Load(); err != nil {
		return nil, *err
	}
	return &meta.RESTMapping{}, nil
}

// start starts a source within a bubble of time.
func start(
	t *testing.T, answer error,
) (*downstream.Source, *mapper, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	t.Helper()
	m := &mapper{}
	if answer != nil {
		m.err.Store(&answer)
	}
	source := downstream.New(downstream.Options{
		Kind: kind, Cache: &informertest.FakeInformers{}, Mapper: m, Retry: time.Minute,
		Map: func(context.Context, client.Object) []reconcile.Request { return nil },
		Appeared: func(context.Context) []reconcile.Request {
			request := reconcile.Request{}
			request.Name = "waiting"
			return []reconcile.Request{request}
		},
	})
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	if err := source.Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	return source, m, queue
}

// TestAbsentKindHoldsNothingUp: the controller starts without the kind. Objects that wait for it are reconciled when it
// appears.
func TestAbsentKindHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, m, queue := start(t, &meta.NoKindMatchError{GroupKind: kind.GroupKind()})
		if err := source.WaitForSync(t.Context()); err != nil || source.Served() {
			t.Fatalf("an absent kind: %v, served %v", err, source.Served())
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if queue.Len() != 0 || source.Served() {
			t.Fatalf("%d requests, served %v, and the kind is absent", queue.Len(), source.Served())
		}
		m.err.Store(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if queue.Len() != 1 || !source.Served() {
			t.Errorf("%d requests, served %v, and the kind is there", queue.Len(), source.Served())
		}
		asked := m.asked.Load()
		time.Sleep(time.Hour)
		if m.asked.Load() != asked {
			t.Error("it asks for a kind that it watches")
		}
	})
}

// TestPresentKindIsWatchedFirst: the controller starts once the kind is watched, and no object is reconciled twice
// because of that.
func TestPresentKindIsWatchedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, _, queue := start(t, nil)
		if err := source.WaitForSync(t.Context()); err != nil || !source.Served() || queue.Len() != 0 {
			t.Errorf("%v, served %v, %d requests", err, source.Served(), queue.Len())
		}
	})
}

// TestUnknownIsNotAbsent: if the API server doesn't answer, the kind may exist, so the controller waits.
func TestUnknownIsNotAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, m, _ := start(t, errors.New("connection refused"))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := source.WaitForSync(ctx); err == nil {
			t.Fatal("it says that it knows")
		}
		m.err.Store(nil)
		if err := source.WaitForSync(t.Context()); err != nil || !source.Served() {
			t.Errorf("%v, served %v", err, source.Served())
		}
	})
}
