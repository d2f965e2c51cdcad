package health

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// forest is a Trees with its queues and a clock of its own.
type forest struct {
	*Trees
	t         *testing.T
	server    *server
	now       time.Time
	queued    queue
	instances queue
}

var web = client.ObjectKey{Namespace: "prod", Name: "web"}

func newForest(t *testing.T) *forest {
	f := &forest{t: t, server: &server{t: t, objects: map[string]*unstructured.Unstructured{}},
		now: time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)}
	f.Trees = &Trees{Reader: f.server.reader(), Now: func() time.Time { return f.now }}
	limiter := workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]()
	f.queued, f.instances = workqueue.NewTypedRateLimitingQueue(limiter), workqueue.NewTypedRateLimitingQueue(limiter)
	t.Cleanup(func() { f.queued.ShutDown(); f.instances.ShutDown() })
	if err := errors.Join(f.begin(t.Context(), f.queued), f.Changes(t.Context(), f.instances)); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *forest) want(basis string) {
	f.Want(web, Wanted{UID: "u", Basis: basis, Entries: []Entry{entry("v1", "PersistentVolumeClaim", "data")}})
}

// reads reconciles, passes the time until the next reading, and returns that, with the objects read and whether the
// instance is reconciled.
func (f *forest) reads() (after time.Duration, asked int, changed bool) {
	f.t.Helper()
	before := len(f.server.asked)
	result, err := f.Reconcile(f.t.Context(), ctrl.Request{NamespacedName: web})
	if err != nil {
		f.t.Fatal(err)
	}
	for ; f.instances.Len() > 0; changed = true {
		key, _ := f.instances.Get()
		f.instances.Done(key)
	}
	f.now = f.now.Add(result.RequeueAfter)
	return result.RequeueAfter, len(f.server.asked) - before, changed
}

func (f *forest) claim(phase string) {
	f.server.objects["PersistentVolumeClaim data"] = parse(f.t, "{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: "+phase+"}}")
}

// TestIntervals: a tree that isn't healthy is read soon, then half as often each time; a healthy one rarely. Only a
// reading that differs concerns the instance.
func TestIntervals(t *testing.T) {
	f := newForest(t)
	f.claim("Pending")
	f.want("1")
	type reading struct {
		After   time.Duration
		Changed bool
	}
	var got []reading
	again := func(n int) {
		for range n {
			after, asked, changed := f.reads()
			if asked != 1 {
				t.Errorf("%d objects were read", asked)
			}
			got = append(got, reading{after, changed})
		}
	}
	again(6)
	f.claim("Bound")
	again(2)
	f.claim("Lost")
	again(2)
	want := []reading{
		{10 * time.Second, true}, {20 * time.Second, false}, {40 * time.Second, false}, {80 * time.Second, false},
		{2 * time.Minute, false}, {2 * time.Minute, false}, {2 * time.Minute, true}, {2 * time.Minute, false},
		{10 * time.Second, true}, {20 * time.Second, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestBasis: a reading counts for the report of Flux that it began with. Another report is read soon, yet never within
// ten seconds of the reading before; the same one again asks for nothing.
func TestBasis(t *testing.T) {
	f := newForest(t)
	f.claim("Bound")
	f.want("1")
	f.want("1")
	if f.queued.Len() != 1 || f.Of(web, "u", "1") != nil {
		t.Errorf("%d wait, before anything was read: %v", f.queued.Len(), f.Of(web, "u", "1"))
	}
	_, _, _ = f.reads()
	if len(f.Of(web, "u", "1")) != 1 || f.Of(web, "u", "2") != nil || f.Of(web, "other", "1") != nil {
		t.Error("the reading counts for another basis or instance, or not for its own")
	}
	f.now = f.now.Add(-2 * time.Minute).Add(4 * time.Second)
	f.want("2")
	if after, asked, _ := f.reads(); asked != 0 || after != 6*time.Second {
		t.Errorf("%d objects read 4s after the reading before, next in %s", asked, after)
	}
	if _, asked, changed := f.reads(); asked != 1 || !changed || len(f.Of(web, "u", "2")) != 1 || f.Of(web, "u", "1") != nil {
		t.Errorf("the next report: %d objects read, changed %t", asked, changed)
	}
	f.Forget(web)
	if after, asked, _ := f.reads(); after != 0 || asked != 0 || f.Of(web, "u", "2") != nil {
		t.Errorf("an application that is gone is read: %d objects, next in %s", asked, after)
	}
}

// TestAFailedReadingChangesNothing: while the API server is away, the last reading stays.
func TestAFailedReadingChangesNothing(t *testing.T) {
	f := newForest(t)
	f.claim("Bound")
	f.want("1")
	_, _, _ = f.reads()
	f.server.fails = map[string]error{"PersistentVolumeClaim data": errors.New("connection refused")}
	if _, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: web}); err == nil {
		t.Error("no error, so it isn't tried again soon")
	}
	if len(f.Of(web, "u", "1")) != 1 || f.instances.Len() != 0 {
		t.Error("the last reading is gone")
	}
}

// TestNoTrees: without a reader nothing is read, and nothing fails.
func TestNoTrees(t *testing.T) {
	var none *Trees
	none.Want(web, Wanted{})
	none.Forget(web)
	if none.Of(web, "u", "1") != nil {
		t.Error("a reading of nothing")
	}
}
