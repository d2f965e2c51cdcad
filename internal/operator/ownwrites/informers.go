package ownwrites

import (
	"context"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// every is the most by which a read waits longer than for its cache.
const every = time.Second

// Informers makes the informers of a cache, and watches how far they are. The zero value is ready to use.
type Informers struct {
	mu    sync.Mutex
	reads map[waiter]*reached
}

// waiter is the handler that a client has its reads of a kind wait for.
type waiter interface {
	cache.ResourceEventHandler
	WaitForGet(ctx context.Context, key types.NamespacedName) error
}

// reached holds the cache of a kind, and the version that was announced.
type reached struct {
	store     cache.Store
	announced uint64
}

// New makes an informer. It is meant for the options of a cache.
func (i *Informers) New(
	from cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers,
) cache.SharedIndexInformer {
	return &informer{cache.NewSharedIndexInformer(from, example, resync, indexers), i}
}

// Start lets the waiting reads know, until ctx ends, which versions their caches have reached.
func (i *Informers) Start(ctx context.Context) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			i.announce()
		case <-ctx.Done():
			return nil
		}
	}
}

// NeedLeaderElection returns false: an operator that waits for the lease reads too.
func (i *Informers) NeedLeaderElection() bool { return false }

func (i *Informers) add(w waiter, store cache.Store) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.reads == nil {
		i.reads = map[waiter]*reached{}
	}
	i.reads[w] = &reached{store: store}
}

func (i *Informers) announce() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for w, is := range i.reads {
		version, err := strconv.ParseUint(is.store.LastStoreSyncResourceVersion(), 10, 63)
		if err != nil || version <= is.announced { // not listed yet, or nothing new
			continue
		}
		is.announced = version
		w.OnUpdate(nil, &metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.FormatUint(version, 10)},
		})
	}
}

// informer lets waiters know more than the events.
type informer struct {
	cache.SharedIndexInformer
	all *Informers
}

// AddEventHandler implements cache.SharedInformer.
func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	w, ok := h.(waiter)
	if !ok {
		return i.SharedIndexInformer.AddEventHandler(h)
	}
	made, err := i.SharedIndexInformer.AddEventHandler(&handler{w})
	if err == nil {
		i.all.add(w, i.GetStore())
	}
	return made, err
}

// handler calls a waiter also with a deletion that the cache has seen as a change: the object was made again meanwhile.
type handler struct{ waiter }

// OnUpdate implements cache.ResourceEventHandler.
func (h *handler) OnUpdate(before, after any) {
	old, err := meta.Accessor(before)
	if err == nil {
		if is, err := meta.Accessor(after); err == nil && is.GetUID() != old.GetUID() {
			h.waiter.OnDelete(before)
		}
	}
	h.waiter.OnUpdate(before, after)
}
