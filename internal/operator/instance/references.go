package instance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// How often the objects with values are looked at: those that can be read, and those that need not or must not be. And
// how many of all applications in a second.
const (
	lookEvery  = 15 * time.Second
	lookRarely = 5 * time.Minute
	// fluxReads is the time within which Flux reads values by itself: its interval, and some time for its queue.
	fluxReads   = lookRarely + time.Minute
	looksPerSec = 10
	looksAtOnce = 50
)

// The label with which Flux itself watches an object with values.
const labelWatch, watchEnabled = "reconcile.fluxcd.io/watch", "Enabled"

// References notices changes of the ConfigMaps and Secrets that instances take values from: Flux reads an object
// without its label only every five minutes. It reads each object by its name, and nothing but the metadata. The zero
// value, and nil, never notice anything.
type References struct {
	// Live reads from the API server, and Instances from the cache. Required.
	Live, Instances client.Reader
	// Now returns the time. Required.
	Now func() time.Time
	// turns says when an object may be read. Required.
	turns *turns

	mu sync.Mutex
	by map[client.ObjectKey]*references
	// instances has the instances whose values have changed, own those whose turn has come.
	instances, own workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// references holds what was last seen of the objects of one instance.
type references struct {
	uid  types.UID
	seen map[origin]sight
	// unread are the objects of the instance's generation that are still to be read this time; found holds the sights of
	// the others.
	unread     []origin
	generation int64
	found      map[origin]sight
	// changed is the time at which a change was noticed, until Flux is asked to read the values.
	changed string
}

// origin names an object with values.
type origin struct{ kind, name string }

// sight has the version of an object with values, which is empty if it doesn't exist, and the time of its
// last write.
type sight struct {
	version string
	at      time.Time
}

// originsOf returns the objects that an instance takes values from, each once.
func originsOf(spec *appsv1alpha1.ApplicationInstanceSpec) (all []origin) {
	add := func(o origin) {
		if !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	for _, one := range spec.ValuesFrom {
		add(origin{one.Kind, one.Name})
	}
	if spec.Values == nil {
		return all
	}
	if ref := spec.Values.SecretRef; ref != nil {
		add(origin{"Secret", ref.Name})
	}
	if ref := spec.Values.ConfigMapRef; ref != nil {
		add(origin{"ConfigMap", ref.Name})
	}
	return all
}

// Changes gives References the queue of the instances' controller. It is a source of that controller.
func (r *References) Changes(
	_ context.Context, instances workqueue.TypedRateLimitingInterface[reconcile.Request],
) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.instances = instances
	return nil
}

// Turns gives References the queue of its own controller. It is a source of that controller.
func (r *References) Turns(_ context.Context, own workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own = own
	return nil
}

// Changed returns when a change of an instance's values was noticed of which Flux doesn't know yet, or an empty text.
func (r *References) Changed(key client.ObjectKey) string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if has := r.by[key]; has != nil {
		return has.changed
	}
	return ""
}

// Asked records that Flux was asked to read the values because of a change.
func (r *References) Asked(key client.ObjectKey, changed string) {
	if r == nil || changed == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if has := r.by[key]; has != nil && has.changed == changed {
		has.changed = ""
	}
}

// Reconcile reads one of the objects of an instance, if it is the instance's turn. One whose turn comes later is
// reconciled again then.
func (r *References) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	instance, err := readInstance(ctx, r.Instances, request)
	if err != nil {
		return reconcile.Result{}, err
	}
	if instance == nil || instance.DeletionTimestamp != nil || len(originsOf(&instance.Spec)) == 0 {
		r.pass(request, false)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.by, request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if denied := meta.FindStatusCondition(instance.Status.Conditions, appsv1alpha1.ConditionBlocked); denied != nil &&
		denied.Status == metav1.ConditionTrue && denied.Reason == appsv1alpha1.BlockedPolicyDenied {
		r.pass(request, false)
		return reconcile.Result{RequeueAfter: lookRarely}, nil // nothing of it is the operator's to read
	}
	mayRead, after := r.turns.take(request)
	if !mayRead {
		return reconcile.Result{RequeueAfter: after}, nil
	}
	more := false
	defer func() { r.pass(request, more) }()
	ref := r.nextOf(request, instance)
	is, ok, err := r.look(ctx, instance.Namespace, ref)
	if err != nil {
		return reconcile.Result{}, err
	}
	if more = r.looked(request, ref, is, ok); more {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: r.note(request, instance)}, nil
}

// pass ends the turn of an instance, and has the one reconciled that has the next. more says that the first has
// something else to read.
func (r *References) pass(request reconcile.Request, more bool) {
	next := r.turns.done(request, more)
	r.mu.Lock()
	defer r.mu.Unlock()
	if next != nil && r.own != nil {
		r.own.Add(*next)
	}
}

// nextOf returns the object of an instance to read. All are read again after the last, and if the spec has changed.
func (r *References) nextOf(request reconcile.Request, instance *appsv1alpha1.ApplicationInstance) origin {
	r.mu.Lock()
	defer r.mu.Unlock()
	has := r.by[request.NamespacedName]
	if has == nil || has.uid != instance.UID {
		has = &references{uid: instance.UID}
	}
	if len(has.unread) == 0 || has.generation != instance.Generation {
		has.unread, has.generation = originsOf(&instance.Spec), instance.Generation
		has.found = map[origin]sight{}
	}
	if r.by == nil {
		r.by = map[client.ObjectKey]*references{}
	}
	r.by[request.NamespacedName] = has
	return has.unread[0]
}

// looked records what was seen of an object, which ok says if that counts. It reports whether the instance has more
// objects to read.
func (r *References) looked(request reconcile.Request, ref origin, is sight, ok bool) (more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	has := r.by[request.NamespacedName]
	if ok {
		has.found[ref] = is
	}
	has.unread = has.unread[1:]
	return len(has.unread) > 0
}

// look returns what is seen of an object. ok is false if Flux watches it, or if the operator may not read it.
func (r *References) look(ctx context.Context, namespace string, ref origin) (is sight, ok bool, err error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(ref.kind))
	err = r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return is, true, nil
	case apierrors.IsForbidden(err):
		return is, false, nil
	case err != nil:
		return is, false, fmt.Errorf("read the metadata of %s %s/%s: %w", ref.kind, namespace, ref.name, err)
	}
	is = sight{string(live.UID) + "/" + live.ResourceVersion, live.CreationTimestamp.Time}
	for _, entry := range live.ManagedFields {
		if entry.Time != nil && entry.Time.After(is.at) {
			is.at = entry.Time.Time
		}
	}
	return is, live.Labels[labelWatch] != watchEnabled, nil
}

// mayBeUnread reports whether an object that is seen for the first time may have been written after Flux read it: since
// the instance exists, and so lately that Flux need not have read it again by itself.
func (r *References) mayBeUnread(is sight, instance *appsv1alpha1.ApplicationInstance) bool {
	return is.at.After(instance.CreationTimestamp.Time) && r.Now().Sub(is.at) < fluxReads
}

// note comes after the last object: it compares what was seen with what was seen before, has the instance reconciled if
// it has changed, and returns when to read again. Of what was not seen before, by an operator that has just started or
// an instance that is new, the time of the last write counts.
func (r *References) note(request reconcile.Request, instance *appsv1alpha1.ApplicationInstance) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	has := r.by[request.NamespacedName]
	for ref, is := range has.found {
		before, known := has.seen[ref]
		if known && before.version != is.version || !known && r.mayBeUnread(is, instance) {
			has.changed = r.Now().UTC().Format(time.RFC3339Nano)
		}
	}
	has.seen, has.found = has.found, nil
	if has.changed != "" && r.instances != nil {
		r.instances.Add(request)
	}
	if len(has.seen) == 0 {
		return lookRarely
	}
	return lookEvery
}
