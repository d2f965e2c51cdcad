package ownwrites_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// watches are watches that can be held back and cut.
type watches struct {
	mu   sync.Mutex
	held time.Duration
	cut  chan struct{}
}

func (w *watches) Late() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held
}

func (w *watches) Cut() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut
}

func (w *watches) hold(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = by
}

func (w *watches) cutAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.cut)
	w.cut = make(chan struct{})
}

// world is a cluster with the client of an operator.
type world struct {
	*testing.T
	client.Client
	*watches
	made *cluster.Cluster
}

// found starts an operator that watches a namespace, or all. It works on no object: no namespace has its label.
func found(t *testing.T, namespace string) *world {
	t.Helper()
	w := &world{T: t, made: cluster.New(), watches: &watches{cut: make(chan struct{})}}
	w.create(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"prod"}}`)
	made, err := operator.NewManager(&rest.Config{
		Host: "http://cluster", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
		Transport: w.made.As(cluster.Client{Name: "operator", Lag: w.watches}),
	}, operator.Options{Namespace: "system", Watched: namespace, NoAgent: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Client = made.GetClient()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- made.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if !made.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the caches are empty")
	}
	return w
}

// create makes an object beside the operator.
func (w *world) create(text string) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		w.Fatal(err)
	}
	made, err := w.made.Create(object, cluster.Write{By: "user"})
	if err != nil {
		w.Fatal(err)
	}
	time.Sleep(time.Second) // for caches whose watches are not held back
	return made
}

// forget makes every watch expire: the caches list again.
func (w *world) forget() {
	w.made.Compact()
	w.hold(0)
	w.cutAll()
}

func release() *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	made.SetGroupVersionKind(cluster.HelmRelease)
	made.SetNamespace("prod")
	made.SetName("web")
	return made
}

// get reads the release, within a minute.
func (w *world) get() (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	read := release()
	return read, w.Get(ctx, client.ObjectKeyFromObject(read), read)
}

// finds reads the release with a UID, or none.
func (w *world) finds(uid types.UID) {
	w.Helper()
	read, err := w.get()
	if client.IgnoreNotFound(err) != nil || read.GetUID() != uid {
		w.Errorf("the release has the UID %q, and is read with %q: %v", uid, read.GetUID(), err)
	}
}

const (
	web  = `{"apiVersion":"helm.toolkit.fluxcd.io/v2","kind":"HelmRelease","metadata":{"namespace":"prod","name":"web"}}`
	held = `{"apiVersion":"helm.toolkit.fluxcd.io/v2","kind":"HelmRelease",
		"metadata":{"namespace":"prod","name":"web","finalizers":["finalizers.fluxcd.io"]}}`
)

// applies makes the operator create the release.
func (w *world) applies() types.UID {
	w.Helper()
	made := release()
	err := w.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(made), client.FieldOwner("operator"))
	if err != nil {
		w.Fatal(err)
	}
	return made.GetUID()
}

// uninstalls makes the operator delete the release, and Flux let it go.
func (w *world) uninstalls() {
	w.Helper()
	read, err := w.get()
	if err != nil {
		w.Fatal(err)
	}
	w.hold(time.Hour)
	if err := w.Delete(w.Context(), read); err != nil {
		w.Fatal(err)
	}
	left := release()
	if err := unstructured.SetNestedSlice(left.Object, nil, "metadata", "finalizers"); err != nil {
		w.Fatal(err)
	}
	if _, err := w.made.Merge(left, cluster.Write{By: "flux"}); err != nil {
		w.Fatal(err)
	}
}

// reads holds what happens before a read, and what the read must find.
var reads = map[string]func(*world){
	"deleted": func(w *world) {
		w.create(held)
		w.uninstalls()
		w.forget()
		w.finds("")
	},
	"deleted, and listed": func(w *world) {
		w.create(held)
		w.uninstalls()
		w.forget()
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(cluster.HelmRelease)
		if err := w.List(ctx, list); err != nil || len(list.Items) > 0 {
			w.Errorf("the release is gone, and listed: %d, %v", len(list.Items), err)
		}
	},
	"created and deleted unseen": func(w *world) {
		w.finds("")
		w.hold(time.Hour)
		w.applies()
		if _, err := w.made.Delete(release(), "user", ""); err != nil {
			w.Fatal(err)
		}
		w.forget()
		w.finds("")
	},
	"deleted and created again": func(w *world) {
		w.finds(w.create(web).GetUID())
		w.hold(time.Hour)
		if err := w.Delete(w.Context(), release()); err != nil {
			w.Fatal(err)
		}
		made := w.create(web)
		w.forget()
		w.finds(made.GetUID())
	},
	"late": func(w *world) {
		w.finds("")
		w.hold(5 * time.Second)
		w.finds(w.applies())
	},
	"held back": func(w *world) {
		w.finds("")
		w.hold(time.Hour)
		w.applies()
		if _, err := w.get(); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("a read before the cache has the write: %v", err)
		}
	},
}

// TestReadsGoOnAfterLostEvents: no read waits for an event that was lost, and still each sees the client's writes.
func TestReadsGoOnAfterLostEvents(t *testing.T) {
	for name, read := range reads {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { read(found(t, "")) }) })
		t.Run(name+", in the only namespace", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { read(found(t, "prod")) })
		})
	}
}
