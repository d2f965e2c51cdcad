package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Cluster holds the objects of a cluster and what happened to them. It is safe for concurrent use.
type Cluster struct {
	mu      sync.Mutex
	version uint64
	uids    int
	objects map[key]*unstructured.Unstructured // never modified in place
	// log holds what happened, in order; what is at or below compacted is forgotten.
	log       []event
	compacted uint64
	changed   chan struct{}
	// observers are called with each stored change, in order, while the cluster is locked.
	observers []func(Change)
}

type key struct {
	schema.GroupVersionKind
	namespace, name string
}

// event is an entry of the log.
type event struct {
	version uint64
	word    string // ADDED, MODIFIED or DELETED
	key     key
	object  *unstructured.Unstructured
	at      time.Time
}

// Change is a stored change of an object.
type Change struct {
	// By is the name of the client.
	By string
	// Before and After are the object. One that is created has no Before, one that is gone no After.
	Before, After *unstructured.Unstructured
}

// New returns a cluster without objects.
func New() *Cluster {
	return &Cluster{objects: map[key]*unstructured.Unstructured{}, changed: make(chan struct{})}
}

// Observe makes the cluster call f with each stored change. f must not call the cluster.
func (c *Cluster) Observe(f func(Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observers = append(c.observers, f)
}

// Changed returns a channel that is closed with the next change.
func (c *Cluster) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// Version returns the resource version of the last change.
func (c *Cluster) Version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Compact forgets what happened so far: a watch that resumes from before must list again.
func (c *Cluster) Compact() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compacted, c.log = c.version, nil
}

// Get returns a copy of an object, or nil.
func (c *Cluster) Get(of schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	if live := c.objects[key{of, namespace, name}]; live != nil {
		return live.DeepCopy()
	}
	return nil
}

// List returns copies of all objects of a kind, by namespace and name.
func (c *Cluster) List(of schema.GroupVersionKind) []*unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*unstructured.Unstructured
	for at, live := range c.objects {
		if at.GroupVersionKind == of {
			all = append(all, live.DeepCopy())
		}
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

// store replaces an object, or removes it if next is nil, and notifies watches. The caller holds mu.
func (c *Cluster) store(at key, by string, next *unstructured.Unstructured) {
	c.version++
	before := c.objects[at]
	word, object := "MODIFIED", next
	switch {
	case next == nil:
		word, object = "DELETED", before.DeepCopy()
		delete(c.objects, at)
	case before == nil:
		word = "ADDED"
	}
	object.SetResourceVersion(strconv.FormatUint(c.version, 10))
	if next != nil {
		c.objects[at] = next
	}
	c.log = append(c.log, event{c.version, word, at, object, time.Now()})
	for _, f := range c.observers {
		f(Change{By: by, Before: before, After: next})
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// refuse returns why no object may be created in a namespace, or nil. The caller holds mu.
func (c *Cluster) refuse(k kind, at key) error {
	if k.global {
		return nil
	}
	namespace := c.objects[key{Namespace, "", at.namespace}]
	switch {
	case namespace == nil:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, at.namespace)
	case namespace.GetDeletionTimestamp() != nil:
		return apierrors.NewForbidden(k.groupResource(), at.name, fmt.Errorf(
			"unable to create new content in namespace %s because it is being terminated", at.namespace))
	}
	return nil
}
