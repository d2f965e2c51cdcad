package health

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func entry(apiVersion, kind, name string) Entry {
	return Entry{APIVersion: apiVersion, Kind: kind, Namespace: "prod", Name: name}
}

const (
	noReplica = "replicas: 3, updatedReplicas: 3, availableReplicas: 0}}"
	exists    = "{apiVersion: v1, kind: Secret, metadata: {name: web}}"
)

// TestRead: each object is read by its name. What may not be read, or lies elsewhere, is unknown; of kinds without a
// state the metadata alone is read; a kind that was refused once isn't asked for again.
func TestRead(t *testing.T) {
	s := &server{t: t,
		objects: map[string]*unstructured.Unstructured{
			"Secret web": parse(t, exists), "Service web": parse(t, "{apiVersion: v1, kind: Service}"),
		},
		refused: map[string]bool{"ConfigMap": true},
		fails:   map[string]error{"Widget odd": apierrors.NewInternalError(errors.New("no conversion"))},
	}
	entries := []Entry{
		entry("v1", "Secret", "web"), entry("v1", "Service", "web"), entry("v1", "ConfigMap", "a"), entry("v1", "ConfigMap", "b"),
		entry("apps/v1", "Deployment", "gone"), entry("a.b/v1", "Unserved", "x"), entry("a.b/v1", "Widget", "odd"),
		{APIVersion: "v1", Kind: "Service", Namespace: "other", Name: "web"},
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "web"},
	}
	found, err := s.reader().Read(t.Context(), "prod", entries)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Kind+" "+e.Name+": "+string(found[e].State)+": "+found[e].Message)
	}
	want := []string{
		"Secret web: Healthy: it exists", "Service web: Healthy: Service is ready",
		"ConfigMap a: Unknown: the operator may not get configmaps (role tend-operator-health)",
		"ConfigMap b: Unknown: the operator may not get configmaps (role tend-operator-health)",
		"Deployment gone: Missing: it does not exist", "Unserved x: Missing: the cluster does not serve its kind",
		"Widget odd: Unknown: it can't be read: Internal error occurred: no conversion",
		"Service web: Unknown: it is in another namespace than the application, and is not read",
		"ClusterRole web: Missing: it does not exist",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	asked := []string{"metadata Secret web", "Service web", "metadata ConfigMap a", "Deployment gone", "Unserved x", "Widget odd",
		"metadata ClusterRole web"}
	if diff := cmp.Diff(asked, s.asked); diff != "" {
		t.Error(diff)
	}
}

// TestReadWithoutAnAnswer: if the API server gives no answer, nothing is known, and nothing is called missing.
func TestReadWithoutAnAnswer(t *testing.T) {
	for name, err := range map[string]error{
		"cut": errors.New("connection refused"), "busy": apierrors.NewTooManyRequestsError("later"),
		"away": apierrors.NewServiceUnavailable("starting"), "slow": apierrors.NewTimeoutError("slow", 1),
	} {
		s := &server{t: t, fails: map[string]error{"Service web": err}}
		if found, got := s.reader().Read(t.Context(), "prod", []Entry{entry("v1", "Service", "web")}); got == nil || found != nil {
			t.Errorf("%s: %v, %v", name, found, got)
		}
	}
}

// TestPodsOfAWorkload: the pods of a workload that isn't healthy are looked through for a cause. Only its own count.
func TestPodsOfAWorkload(t *testing.T) {
	pod := func(name, ownerKind, owner, uid, hash string) (pod corev1.Pod) {
		yes := true
		pod.Name, pod.Labels = name, map[string]string{"pod-template-hash": hash}
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: ownerKind, Name: owner, UID: types.UID(uid), Controller: &yes}}
		pod.Status.Phase, pod.Status.Message = corev1.PodFailed, "no memory"
		return pod
	}
	web := parse(t, deployment+noReplica)
	web.SetName("web")
	selector := map[string]any{"app": "web"}
	if err := unstructured.SetNestedMap(web.Object, selector, "spec", "selector", "matchLabels"); err != nil {
		t.Fatal(err)
	}
	set := parse(t, "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, uid: s}, spec: {selector: {matchLabels: {app: db}}}}")
	s := &server{t: t, objects: map[string]*unstructured.Unstructured{"Deployment web": web, "StatefulSet db": set}}
	read := func(kind, name string, pods ...corev1.Pod) string {
		s.pods = pods
		e := entry("apps/v1", kind, name)
		found, err := s.reader().Read(t.Context(), "prod", []Entry{e})
		if err != nil {
			t.Fatal(err)
		}
		return string(found[e].State) + ": " + found[e].Message
	}
	for name, tc := range map[string]struct{ got, want string }{
		"its pod":          {read("Deployment", "web", pod("web-1-a", "ReplicaSet", "web-1", "r", "1")), "Degraded: Available: 0/3. Pod web-1-a: it failed: no memory"},
		"another's":        {read("Deployment", "web", pod("web-1-a", "ReplicaSet", "other-1", "r", "1")), "Progressing: Available: 0/3"},
		"without an owner": {read("Deployment", "web", corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}), "Progressing: Available: 0/3"},
		"a set's":          {read("StatefulSet", "db", pod("db-0", "StatefulSet", "db", "s", "")), "Degraded: Replicas: 0/1. Pod db-0: it failed: no memory"},
		"of an older uid":  {read("StatefulSet", "db", pod("db-0", "StatefulSet", "db", "older", "")), "Progressing: Replicas: 0/1"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", name, tc.got, tc.want)
		}
	}
}
