package downstream

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Options configure a Source. All but Retry are required.
type Options struct {
	// Kind is the kind to watch.
	Kind schema.GroupVersionKind
	// Cache holds the objects in unstructured form.
	Cache cache.Cache
	// Mapper tells whether the API server serves the kind.
	Mapper meta.RESTMapper
	// Map returns what to reconcile after an object's event.
	Map func(context.Context, client.Object) []reconcile.Request
	// Appeared returns what to reconcile if the kind has appeared after the start.
	Appeared func(context.Context) []reconcile.Request
	// Retry is the interval at which an absent kind is looked up. Default 10 s.
	Retry time.Duration
}

// Source watches a kind as soon as it is served.
type Source struct {
	opts   Options
	served atomic.Bool
	// settled is closed once it is known whether the kind is served. If it is, the cache has its objects by then.
	settled chan struct{}
}

var _ source.SyncingSource = (*Source)(nil)

// New returns a Source for a controller.
func New(opts Options) *Source {
	opts.Retry = cmp.Or(opts.Retry, 10*time.Second)
	return &Source{opts: opts, settled: make(chan struct{})}
}

// Served reports whether the kind's objects can be read from the cache.
func (s *Source) Served() bool { return s.served.Load() }

// String names the source in logs.
func (s *Source) String() string { return "downstream " + s.opts.Kind.String() }

// Start starts the watch and returns.
func (s *Source) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go s.run(ctx, queue)
	return nil
}

// WaitForSync waits until it is known whether the kind is served. It doesn't wait for an absent kind.
func (s *Source) WaitForSync(ctx context.Context) error {
	select {
	case <-s.settled:
		return nil
	case <-ctx.Done():
		return errors.New("the API server does not say whether it serves " + s.opts.Kind.String())
	}
}

// run waits for the kind, and then watches it.
func (s *Source) run(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	absent := false // the controller goes on without the kind
	for {
		_, err := s.opts.Mapper.RESTMapping(s.opts.Kind.GroupKind(), s.opts.Kind.Version)
		if err == nil {
			break
		}
		if meta.IsNoMatchError(err) && !absent { // another error doesn't mean that the kind is absent
			absent = true
			close(s.settled)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.opts.Retry):
		}
	}
	var object client.Object = s.object()
	kind := source.Kind(s.opts.Cache, object, handler.EnqueueRequestsFromMapFunc(s.opts.Map))
	if kind.Start(ctx, queue) != nil || kind.WaitForSync(ctx) != nil {
		return // the context has ended
	}
	s.served.Store(true)
	if !absent {
		close(s.settled)
		return
	}
	for _, request := range s.opts.Appeared(ctx) {
		queue.Add(request)
	}
}

func (s *Source) object() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(s.opts.Kind)
	return object
}
