package health

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// How often a tree is read: at least every maxInterval, and after a change soon again, then half as often each time.
const (
	minInterval = 10 * time.Second
	maxInterval = 2 * time.Minute
)

// Wanted names the objects of an application that are to be read.
type Wanted struct {
	UID types.UID
	// Basis identifies Flux's report on the release. A reading counts for the basis that was wanted when it began.
	Basis   string
	Entries []Entry
	// Known says that the status has a health already, as after a restart: the reading may wait.
	Known bool
}

// Trees holds the last reading of each application. The zero value, and nil, never read anything.
type Trees struct {
	Reader *Reader
	// Now returns the time. Required.
	Now func() time.Time

	mu sync.Mutex
	by map[client.ObjectKey]*tree
	// readings has the trees to read, instances those whose reading has changed.
	readings, instances queue
}

type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// tree holds the readings of one application.
type tree struct {
	want Wanted
	// basis is the basis of health, which was read at the time at. interval is the time until the next reading.
	basis    string
	health   map[Entry]Health
	at       time.Time
	interval time.Duration
}

// Want asks for readings of an application's objects, from now on. Asking for the same again changes nothing.
func (t *Trees) Want(key client.ObjectKey, w Wanted) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	has := t.by[key]
	if has != nil && has.want.UID == w.UID && has.want.Basis == w.Basis {
		return
	}
	if has == nil || has.want.UID != w.UID {
		has = &tree{}
	}
	has.want = w
	if t.by == nil {
		t.by = map[client.ObjectKey]*tree{}
	}
	t.by[key] = has
	add(t.readings, key, w.Known)
}

// Forget ends the readings of an application.
func (t *Trees) Forget(key client.ObjectKey) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, key)
}

// Of returns the last reading of an application for a basis; nil if there is none.
func (t *Trees) Of(key client.ObjectKey, uid types.UID, basis string) map[Entry]Health {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	has := t.by[key]
	if has == nil || has.want.UID != uid || has.basis != basis {
		return nil
	}
	return has.health
}

// Changes gives Trees the queue of the instances' controller. It is a source of that controller.
func (t *Trees) Changes(_ context.Context, instances queue) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.instances = instances
	return nil
}

// begin gives Trees the queue of its own controller. It is a source of that controller.
func (t *Trees) begin(_ context.Context, readings queue) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readings = readings
	for key, has := range t.by {
		add(readings, key, has.want.Known)
	}
	return nil
}

// add enqueues an application. later lets others go first.
func add(to queue, key client.ObjectKey, later bool) {
	if to == nil {
		return
	}
	request := ctrl.Request{NamespacedName: key}
	if ranked, ok := to.(priorityqueue.PriorityQueue[ctrl.Request]); ok && later {
		ranked.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, request)
		return
	}
	to.Add(request)
}

// Reconcile reads the objects of one application, unless that was done a moment ago.
func (t *Trees) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	key := request.NamespacedName
	want, rest := t.due(key)
	if rest != 0 {
		return ctrl.Result{RequeueAfter: max(rest, 0)}, nil
	}
	found, err := t.Reader.Read(ctx, key.Namespace, want.Entries)
	if err != nil {
		return ctrl.Result{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	has := t.by[key]
	if has == nil || has.want.UID != want.UID {
		return ctrl.Result{}, nil
	}
	if has.basis != want.Basis || !maps.Equal(has.health, found) {
		has.interval = minInterval
		add(t.instances, key, false)
	} else {
		has.interval = min(2*has.interval, maxInterval)
	}
	if isHealthy(found) {
		has.interval = maxInterval
	}
	has.basis, has.health, has.at = want.Basis, found, t.Now()
	if has.want.Basis != want.Basis {
		return ctrl.Result{RequeueAfter: minInterval}, nil
	}
	return ctrl.Result{RequeueAfter: has.interval, Priority: new(handler.LowPriority)}, nil
}

// due returns what to read of an application, or the time until then; a negative one if nothing is to be read.
func (t *Trees) due(key client.ObjectKey) (want Wanted, rest time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	has := t.by[key]
	if has == nil {
		return Wanted{}, -1
	}
	if passed := t.Now().Sub(has.at); passed < minInterval && passed >= 0 {
		return Wanted{}, minInterval - passed
	}
	return has.want, 0
}

// isHealthy reports whether nothing of a tree is expected to change soon.
func isHealthy(found map[Entry]Health) bool {
	return !slices.ContainsFunc(slices.Collect(maps.Values(found)), func(h Health) bool {
		return h.State != appsv1alpha1.HealthHealthy && h.State != appsv1alpha1.HealthUnknown
	})
}
