package cluster

import (
	"encoding/base64"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Write is a request to change an object.
type Write struct {
	// By names the client, and its field manager.
	By string
	// Status writes the status subresource: nothing but the status. Other writes leave the status as it is.
	Status bool
	// Force takes over the fields of other managers.
	Force bool
}

// Apply applies an object on the server side.
func (c *Cluster) Apply(wanted *unstructured.Unstructured, w Write) (*unstructured.Unstructured, error) {
	return c.change(wanted, w, true, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		fields, err := manager(wanted.GroupVersionKind(), w.subresource())
		if err != nil {
			return nil, err
		}
		if live == nil {
			live = &unstructured.Unstructured{Object: map[string]any{}}
			live.SetGroupVersionKind(wanted.GroupVersionKind())
		}
		patch := wanted.DeepCopy()
		for _, name := range []string{"uid", "resourceVersion"} { // they are preconditions
			unstructured.RemoveNestedField(patch.Object, "metadata", name)
		}
		made, err := fields.Apply(live, patch, w.By, w.Force)
		if err != nil || made == nil {
			return live, err
		}
		return asUnstructured(made)
	})
}

// Merge applies a JSON merge patch to the object that the patch names.
func (c *Cluster) Merge(patch *unstructured.Unstructured, w Write) (*unstructured.Unstructured, error) {
	return c.change(patch, w, false, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		next := live.DeepCopy()
		next.Object = merged(next.Object, patch.DeepCopy().Object)
		next.SetResourceVersion(live.GetResourceVersion())
		return owned(live, next, w)
	})
}

// Create creates an object.
func (c *Cluster) Create(object *unstructured.Unstructured, w Write) (*unstructured.Unstructured, error) {
	return c.change(object, w, true, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if live != nil {
			k, _ := kindOf(object.GroupVersionKind())
			return nil, apierrors.NewAlreadyExists(k.groupResource(), object.GetName())
		}
		empty := &unstructured.Unstructured{Object: map[string]any{}}
		empty.SetGroupVersionKind(object.GroupVersionKind())
		return owned(empty, object.DeepCopy(), w)
	})
}

// Update replaces an object.
func (c *Cluster) Update(object *unstructured.Unstructured, w Write) (*unstructured.Unstructured, error) {
	return c.change(object, w, false, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		next := object.DeepCopy()
		next.SetManagedFields(live.GetManagedFields())
		return owned(live, next, w)
	})
}

// Delete deletes an object, or marks it as going while it has finalizers.
func (c *Cluster) Delete(
	object *unstructured.Unstructured, by string, uid types.UID,
) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := keyOf(object)
	k, _ := kindOf(at.GroupVersionKind)
	live := c.objects[at]
	switch {
	case live == nil:
		return nil, apierrors.NewNotFound(k.groupResource(), at.name)
	case uid != "" && live.GetUID() != uid:
		return nil, apierrors.NewConflict(k.groupResource(), at.name, fmt.Errorf("the UID is %s", live.GetUID()))
	case at.GroupVersionKind != Namespace && len(live.GetFinalizers()) == 0:
		c.store(at, by, nil)
		return live, nil
	case live.GetDeletionTimestamp() != nil:
		return live, nil
	}
	next := live.DeepCopy()
	now := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	next.SetDeletionTimestamp(&now)
	next.SetGeneration(next.GetGeneration() + 1)
	c.store(at, by, next)
	return next.DeepCopy(), nil
}

// Remove removes a namespace that is being deleted. It returns false while objects are in it.
func (c *Cluster) Remove(namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := range c.objects {
		if at.namespace == namespace {
			return false
		}
	}
	at := key{Namespace, "", namespace}
	if live := c.objects[at]; live != nil && live.GetDeletionTimestamp() != nil {
		c.store(at, "namespaces", nil)
	}
	return true
}

func (w Write) subresource() string {
	if w.Status {
		return "status"
	}
	return ""
}

func keyOf(object *unstructured.Unstructured) key {
	return key{object.GroupVersionKind(), object.GetNamespace(), object.GetName()}
}

// owned records the client as the manager of the fields that it changed.
func owned(live, next *unstructured.Unstructured, w Write) (*unstructured.Unstructured, error) {
	fields, err := manager(next.GroupVersionKind(), w.subresource())
	if err != nil {
		return nil, err
	}
	return asUnstructured(fields.UpdateNoErrors(live, next, w.By))
}

func asUnstructured(object runtime.Object) (*unstructured.Unstructured, error) {
	made, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%T is not unstructured", object)
	}
	return made, nil
}

// change changes an object as f returns it, and returns a copy of the result. A change that changes nothing is not
// stored. f gets nil if there is no object and it may create one.
func (c *Cluster) change(
	given *unstructured.Unstructured, w Write, creates bool,
	f func(live *unstructured.Unstructured) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := keyOf(given)
	k, served := kindOf(at.GroupVersionKind)
	live := c.objects[at]
	if err := c.unmet(k, at, live, given); err != nil {
		return nil, err
	}
	switch {
	case !served, live == nil && (!creates || w.Status):
		return nil, apierrors.NewNotFound(k.groupResource(), at.name)
	case live == nil:
		if err := c.refuse(k, at); err != nil {
			return nil, err
		}
	}
	var before *unstructured.Unstructured
	if live != nil {
		before = live.DeepCopy()
	}
	next, err := f(before)
	if err != nil {
		return nil, err
	}
	next = next.DeepCopy()
	c.settle(k, at, live, next, w)
	if live != nil && isSame(live, next) {
		return live.DeepCopy(), nil
	}
	ends := live != nil && live.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0
	if ends && k.GroupVersionKind != Namespace {
		c.store(at, w.By, nil)
		return next, nil
	}
	c.store(at, w.By, next)
	return next.DeepCopy(), nil
}

// unmet returns which precondition of a write isn't met, or nil.
func (c *Cluster) unmet(k kind, at key, live, given *unstructured.Unstructured) error {
	uid, version := given.GetUID(), given.GetResourceVersion()
	switch {
	case live == nil && uid != "":
		return apierrors.NewConflict(k.groupResource(), at.name, fmt.Errorf("there is no object with the UID %s", uid))
	case live != nil && uid != "" && uid != live.GetUID():
		return apierrors.NewConflict(k.groupResource(), at.name, fmt.Errorf("the UID is %s, not %s", live.GetUID(), uid))
	case live != nil && version != "" && version != live.GetResourceVersion():
		return apierrors.NewConflict(k.groupResource(), at.name, fmt.Errorf("the object has been modified"))
	}
	return nil
}

// settle sets what the server alone decides.
func (c *Cluster) settle(k kind, at key, live, next *unstructured.Unstructured, w Write) {
	next.SetNamespace(at.namespace)
	next.SetName(at.name)
	if at.GroupVersionKind == Secret {
		encode(next)
	}
	if live == nil {
		c.uids++
		next.SetUID(types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", c.uids)))
		next.SetCreationTimestamp(metav1.NewTime(time.Now().UTC().Truncate(time.Second)))
		next.SetGeneration(1)
		next.SetResourceVersion("")
		next.SetDeletionTimestamp(nil)
		if k.status {
			delete(next.Object, "status")
		}
		return
	}
	if w.Status {
		status, managed := next.Object["status"], next.GetManagedFields()
		next.Object = live.DeepCopy().Object
		next.Object["status"] = status
		if status == nil {
			delete(next.Object, "status")
		}
		next.SetManagedFields(managed)
		return
	}
	if k.status {
		delete(next.Object, "status")
		if status, ok := live.DeepCopy().Object["status"]; ok {
			next.Object["status"] = status
		}
	}
	next.SetUID(live.GetUID())
	next.SetCreationTimestamp(live.GetCreationTimestamp())
	next.SetDeletionTimestamp(live.GetDeletionTimestamp())
	next.SetResourceVersion(live.GetResourceVersion())
	next.SetGeneration(live.GetGeneration())
	if !hasSameSpec(live, next) {
		next.SetGeneration(live.GetGeneration() + 1)
	}
}

// encode stores the texts of a Secret as data.
func encode(secret *unstructured.Unstructured) {
	texts, _, _ := unstructured.NestedStringMap(secret.Object, "stringData")
	delete(secret.Object, "stringData")
	for name, text := range texts {
		_ = unstructured.SetNestedField(secret.Object, base64.StdEncoding.EncodeToString([]byte(text)), "data", name)
	}
}
