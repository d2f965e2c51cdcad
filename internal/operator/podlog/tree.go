package podlog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/instance"
)

var (
	kindInstance    = appsv1alpha1.GroupVersion.WithKind(appsv1alpha1.Kind)
	kindHelmRelease = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
)

// The bounds of a walk: how many controllers lie above a pod, and how many objects are read on the way.
const (
	maxDepth = 5
	maxReads = 500
)

// object names an object of a namespace, whatever the version of its kind.
type object struct{ group, kind, name string }

// owner names an object as a reference does, with its uid.
type owner struct {
	object
	uid types.UID
}

// tree holds the objects that a chart made in one namespace.
type tree struct {
	live      client.Reader
	namespace string
	made      map[object]bool
	// known says of an owner whether it belongs to the tree. A reference with its uid and another name is another owner.
	known map[owner]bool
	reads int
	// forbidden are the kinds of owners that may not be read.
	forbidden map[string]bool
}

// treeOf reads what the chart of a query's application made. The application must be the control plane's object.
func (r *Reader) treeOf(ctx context.Context, q pull.Query) (*tree, error) {
	app := &appsv1alpha1.ApplicationInstance{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: q.Namespace, Name: q.Name}, app)
	name := kindInstance.Kind + " " + q.Namespace + "/" + q.Name
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, notFound("there is no %s", name)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case app.Labels[identity.LabelManagedBy] != identity.ManagedBy || objectOf(app) != q.Object:
		return nil, notFound("%s is not the object that was asked about", name)
	case app.Status.HelmReleaseRef == nil:
		return nil, notFound("%s has no HelmRelease yet", name)
	}
	release := &unstructured.Unstructured{}
	release.SetGroupVersionKind(kindHelmRelease)
	key := client.ObjectKey{Namespace: q.Namespace, Name: app.Status.HelmReleaseRef.Name}
	err = r.Live.Get(ctx, key, release)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, notFound("there is no HelmRelease %s", key)
	case err != nil:
		return nil, fmt.Errorf("read HelmRelease %s: %w", key, err)
	}
	if owner := metav1.GetControllerOf(release); owner == nil || owner.UID != app.UID {
		return nil, notFound("HelmRelease %s does not belong to %s", key, name)
	}
	t := &tree{
		live: r.Live, namespace: q.Namespace,
		made: map[object]bool{}, known: map[owner]bool{}, forbidden: map[string]bool{},
	}
	for _, entry := range instance.Inventory(release) {
		if entry.Namespace == q.Namespace {
			kind := schema.FromAPIVersionAndKind(entry.APIVersion, entry.Kind)
			t.made[object{kind.Group, kind.Kind, entry.Name}] = true
		}
	}
	if len(t.made) == 0 {
		return nil, notFound("Flux lists no objects of HelmRelease %s in its namespace: nothing is installed, or Flux is older than 2.8", key)
	}
	return t, nil
}

// objectOf returns the uid of the control plane's object that a resource is of.
func objectOf(app metav1.Object) string {
	has := app.GetAnnotations()[pull.AnnotationObject]
	return has[:max(strings.LastIndexByte(has, '.'), 0)]
}

// has reports whether an object of the namespace belongs to what the chart made: by its name, or by its controllers.
func (t *tree) has(ctx context.Context, of metav1.Object, kind, group string) (bool, error) {
	return t.climb(ctx, of, object{group, kind, of.GetName()}, maxDepth)
}

func (t *tree) climb(ctx context.Context, of metav1.Object, named object, depth int) (bool, error) {
	if t.made[named] {
		return true, nil
	}
	ref := metav1.GetControllerOf(of)
	if ref == nil || depth == 0 {
		return false, nil
	}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	next := owner{object{kind.Group, kind.Kind, ref.Name}, ref.UID}
	if is, known := t.known[next]; known {
		return is, nil
	}
	above, err := t.read(ctx, ref)
	if err != nil {
		return false, err
	}
	is := false
	if above != nil {
		is, err = t.climb(ctx, above, next.object, depth-1)
	}
	t.known[next] = is
	return is, err
}

// read reads the object of a reference; nil if there is none with its uid, or if it may not be read.
func (t *tree) read(ctx context.Context, owner *metav1.OwnerReference) (*metav1.PartialObjectMetadata, error) {
	if t.reads++; t.reads > maxReads {
		return nil, errors.New("the namespace has too many pods to look through: name one with --pod")
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
	err := t.live.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: owner.Name}, live)
	switch {
	case apierrors.IsForbidden(err) && !isBuiltIn(live.GroupVersionKind()):
		t.forbidden[owner.Kind] = true
		return nil, nil
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", owner.Kind, owner.Name, err)
	case live.UID != owner.UID:
		return nil, nil
	}
	return live, nil
}

// isBuiltIn reports whether the optional role has a kind: what owns pods in every cluster.
func isBuiltIn(kind schema.GroupVersionKind) bool {
	switch kind.Group {
	case "apps":
		return slices.Contains([]string{"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}, kind.Kind)
	case "batch":
		return kind.Kind == "CronJob" || kind.Kind == "Job"
	}
	return false
}

// notes say which pods may be missing.
func (t *tree) notes() (notes []string) {
	for _, kind := range slices.Sorted(maps.Keys(t.forbidden)) {
		notes = append(notes, short(fmt.Sprintf("pods that a %s owns are left out: the operator may not read that kind", kind)))
	}
	return notes[:min(len(notes), maxNotes/2)]
}
