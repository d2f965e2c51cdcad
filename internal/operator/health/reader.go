package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// maxPods is the number of pods of a workload that are looked through for a cause.
const maxPods = 20

// Role is the optional role with the rights to read what charts consist of.
const Role = "tend-operator-health"

// stateless are kinds without a state: they exist or not. Only their metadata is read, so never a secret.
var stateless = map[string][]string{
	"": {"ConfigMap", "Endpoints", "LimitRange", "Namespace", "ResourceQuota", "Secret", "ServiceAccount"},
	"admissionregistration.k8s.io": {
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	},
	"batch":                     {"CronJob"},
	"networking.k8s.io":         {"IngressClass", "NetworkPolicy"},
	"rbac.authorization.k8s.io": {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
	"scheduling.k8s.io":         {"PriorityClass"},
	"storage.k8s.io":            {"StorageClass"},
}

// Entry names an object of a release. Its health and message are empty.
type Entry = appsv1alpha1.InventoryEntry

// Reader reads the objects of releases. All fields are required.
type Reader struct {
	// Live reads from the API server.
	Live client.Reader
	// Wait waits until the next object may be read.
	Wait func(ctx context.Context) error
}

// Read returns the health of the objects of a release in a namespace. An object that can't be read is Unknown. An error
// means that the API server gave no answer: nothing is known then.
func (r *Reader) Read(ctx context.Context, namespace string, entries []Entry) (map[Entry]Health, error) {
	found, refused := map[Entry]Health{}, map[schema.GroupKind]Health{}
	for _, entry := range entries {
		kind := schema.FromAPIVersionAndKind(entry.APIVersion, entry.Kind)
		if entry.Namespace != "" && entry.Namespace != namespace {
			found[entry] = unknown("it is in another namespace than the application, and is not read")
			continue
		}
		if h, known := refused[kind.GroupKind()]; known {
			found[entry] = h
			continue
		}
		h, err := r.one(ctx, entry, kind)
		switch {
		case apierrors.IsForbidden(err):
			h = unknown("the operator may not get " + resourceOf(err, kind) + " (role " + Role + ")")
			refused[kind.GroupKind()] = h
		case err != nil && isAnswer(err):
			h = unknown("it can't be read: " + err.Error())
		case err != nil:
			return nil, fmt.Errorf("read %s %s/%s: %w", entry.Kind, namespace, entry.Name, err)
		}
		found[entry] = h
	}
	return found, nil
}

// one reads an object, and the pods of a workload that isn't healthy.
func (r *Reader) one(ctx context.Context, entry Entry, kind schema.GroupVersionKind) (Health, error) {
	if err := r.Wait(ctx); err != nil {
		return Health{}, err
	}
	key := client.ObjectKey{Namespace: entry.Namespace, Name: entry.Name}
	if slices.Contains(stateless[kind.Group], kind.Kind) {
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(kind)
		if err := r.Live.Get(ctx, key, live); err != nil {
			return absent(err)
		}
		if live.DeletionTimestamp != nil {
			return progressing("it is being deleted"), nil
		}
		return healthy("it exists"), nil
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kind)
	if err := r.Live.Get(ctx, key, live); err != nil {
		return absent(err)
	}
	is := Of(live)
	if is.State != appsv1alpha1.HealthProgressing && is.State != appsv1alpha1.HealthDegraded {
		return is, nil
	}
	pods, err := r.pods(ctx, live)
	if err != nil && !isAnswer(err) {
		return Health{}, err
	}
	return WithPods(is, pods), nil // without the right to list pods no cause is known
}

// absent returns the health of an object that the API server doesn't have, or the error.
func absent(err error) (Health, error) {
	switch {
	case meta.IsNoMatchError(err):
		return missing("the cluster does not serve its kind"), nil
	case apierrors.IsNotFound(err):
		return Of(nil), nil
	}
	return Health{}, err
}

// pods returns the pods of a workload, and nothing for other kinds.
func (r *Reader) pods(ctx context.Context, live *unstructured.Unstructured) (pods []corev1.Pod, err error) {
	switch live.GroupVersionKind().GroupKind() {
	case kindDeployment, kindStatefulSet, kindDaemonSet, kindReplicaSet, kindJob:
	default:
		return nil, nil
	}
	labels, found, err := unstructured.NestedStringMap(live.Object, "spec", "selector", "matchLabels")
	if err != nil || !found || len(labels) == 0 {
		return nil, nil //nolint:nilerr // a selector of another form names no pods here
	}
	if err := r.Wait(ctx); err != nil {
		return nil, err
	}
	list := &corev1.PodList{}
	err = r.Live.List(
		ctx, list, client.InNamespace(live.GetNamespace()), client.MatchingLabels(labels), client.Limit(maxPods),
	)
	for i := range list.Items {
		if belongs(&list.Items[i], live) {
			pods = append(pods, list.Items[i])
		}
	}
	return pods, err
}

// isAnswer reports whether the API server answered about the object itself, as when its conversion fails.
func isAnswer(err error) bool {
	var answered apierrors.APIStatus
	return errors.As(err, &answered) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) &&
		!apierrors.IsTooManyRequests(err) && !apierrors.IsServiceUnavailable(err)
}

// resourceOf returns the name of the resource that a refusal is about, as roles have it.
func resourceOf(err error, kind schema.GroupVersionKind) string {
	name := strings.ToLower(kind.Kind)
	var answered apierrors.APIStatus
	if errors.As(err, &answered) && answered.Status().Details != nil && answered.Status().Details.Kind != "" {
		name = answered.Status().Details.Kind
	}
	return schema.GroupResource{Group: kind.Group, Resource: name}.String()
}
