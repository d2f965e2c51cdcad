package instance

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// shelf plays the API server: the versions of ConfigMaps and Secrets by kind and name. An error is the answer instead.
type shelf struct {
	client.Reader
	t        *testing.T
	instance *appsv1alpha1.ApplicationInstance
	key      client.ObjectKey
	versions map[string]string
	labels   map[string]string
	fails    map[string]error
	written  []metav1.ManagedFieldsEntry
	asked    int
}

func (s *shelf) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *unstructured.Unstructured:
		if s.instance == nil {
			return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
		}
		values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.instance)
		into.Object = values
		return err
	case *metav1.PartialObjectMetadata:
		s.asked++
		name := into.Kind + " " + key.Name
		if err := s.fails[name]; err != nil {
			return err
		}
		if s.versions[name] == "" {
			return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
		}
		into.UID, into.ResourceVersion, into.Labels, into.ManagedFields = "u", s.versions[name], s.labels, s.written
	default:
		s.t.Errorf("a %T is read", into)
	}
	return nil
}

// references returns References that read from the shelf, at any rate.
func (s *shelf) references(now func() time.Time) *References {
	s.key = client.ObjectKeyFromObject(s.instance)
	return &References{Live: s, Instances: s, Now: now, turns: newTurns(1000, 1000, now)}
}

// looks has an instance's objects read, one in each reconcile.
func (s *shelf) looks(r *References) (reconcile.Result, error) {
	for {
		result, err := r.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: s.key})
		has := r.by[s.key]
		if err != nil || result.RequeueAfter > 0 || has == nil || len(has.unread) == 0 {
			return result, err
		}
	}
}

// TestReferences: a change of an object that an instance takes values from is noticed, also that it appears or goes.
// What Flux watches itself, or what may not be read, is looked at rarely, and no change is noticed. Flux is asked once
// for each change.
func TestReferences(t *testing.T) {
	now := noon
	s := &shelf{t: t, instance: withOptionsOf(t, "valuesFrom: [{kind: Secret, name: a}, {kind: ConfigMap, name: b}]"),
		versions: map[string]string{"Secret a": "1"}, fails: map[string]error{}}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	r := s.references(func() time.Time { return now })
	if err := r.Changes(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(s.instance)
	look := func(what string, noticed bool, next time.Duration) {
		t.Helper()
		now = now.Add(time.Second)
		result, err := s.looks(r)
		if err != nil || result.RequeueAfter != next {
			t.Errorf("%s: looked at again after %s, %v", what, result.RequeueAfter, err)
		}
		changed := r.Changed(key)
		if (changed != "") != noticed || queue.Len() > 0 != noticed {
			t.Errorf("%s: changed %q, %d reconciles", what, changed, queue.Len())
		}
		r.Asked(key, "of before")
		if r.Changed(key) != changed {
			t.Errorf("%s: an earlier answer is taken for one about this change", what)
		}
		r.Asked(key, changed)
		for queue.Len() > 0 {
			request, _ := queue.Get()
			queue.Done(request)
		}
	}
	look("at first", false, lookEvery)
	look("nothing changes", false, lookEvery)
	s.versions["Secret a"] = "2"
	look("a Secret changes", true, lookEvery)
	look("Flux was asked", false, lookEvery)
	s.versions["ConfigMap b"] = "1"
	look("a ConfigMap appears", true, lookEvery)
	delete(s.versions, "Secret a")
	look("a Secret goes", true, lookEvery)
	s.fails["ConfigMap b"] = apierrors.NewForbidden(schema.GroupResource{}, "b", errors.New("no role"))
	look("one is refused", false, lookEvery)
	s.versions["ConfigMap b"] = "2"
	delete(s.fails, "ConfigMap b")
	look("it may be read again", false, lookEvery)
	s.versions["Secret a"], s.labels = "3", map[string]string{labelWatch: watchEnabled}
	look("Flux watches them", false, lookRarely)
	s.instance.Status.Conditions = []metav1.Condition{{Type: appsv1alpha1.ConditionBlocked, Status: metav1.ConditionTrue,
		Reason: appsv1alpha1.BlockedPolicyDenied}}
	before := s.asked
	look("the operator may not work on it", false, lookRarely)
	if s.asked != before {
		t.Errorf("%d objects of another's application were read", s.asked-before)
	}
	s.instance.Status.Conditions = nil
	asked := s.asked
	s.instance.Spec.ValuesFrom = nil
	look("no values are taken from anywhere", false, 0)
	s.instance = nil
	look("the instance is gone", false, 0)
	if s.asked != asked || len(r.by) > 0 {
		t.Errorf("%d objects were read, %d instances are kept", s.asked-asked, len(r.by))
	}
}

// TestReferencesWithoutAnAnswer: if the API server gives no answer, nothing is noticed, and it is asked again soon.
func TestReferencesWithoutAnAnswer(t *testing.T) {
	s := &shelf{t: t, instance: withOptionsOf(t, "valuesFrom: [{kind: Secret, name: a}]"),
		fails: map[string]error{"Secret a": errors.New("connection refused")}}
	r := s.references(func() time.Time { return noon })
	if _, err := s.looks(r); err == nil {
		t.Error("no error")
	}
	delete(s.fails, "Secret a")
	if result, err := s.looks(r); err != nil || result.RequeueAfter != lookEvery || s.asked != 2 {
		t.Errorf("%+v, %v after %d reads", result, err, s.asked)
	}
}

// TestChangedValuesAreReadAgain: Flux is asked to reconcile the release alone, and not while a change waits or outside
// of the maintenance window.
func TestChangedValuesAreReadAgain(t *testing.T) {
	instance := web()
	observed := applied(t, instance, flux("Ready=True/InstallSucceeded"), flux("Ready=True/Succeeded"))
	observed.ValuesChanged = "then"
	result := Plan(instance, observed, noon)
	if r := result.Request; r.Changed != "then" || len(r.Objects) != 1 || r.Objects[0].GetKind() != "HelmRelease" ||
		len(r.Annotations) != 1 || r.Annotations[identity.AnnotationRequestedAt] != "then" {
		t.Errorf("%+v", r)
	}
	if result.Status.LastHandledReconcileAt != "" {
		t.Errorf("the status says that a person has asked: %q", result.Status.LastHandledReconcileAt)
	}
	instance.Annotations = annotated(identity.AnnotationMaintenanceWindow, `{schedule: "0 2 * * *", duration: 1h}`)
	if r := Plan(instance, observed, noon).Request; r.Changed != "" || len(r.Objects) > 0 {
		t.Errorf("outside of the window: %+v", r)
	}
	instance.Annotations = nil
	instance.Spec.Timeout = "10m"
	if r := Plan(instance, observed, noon).Request; r.Changed != "" || len(r.Objects) > 0 {
		t.Errorf("while a change is to be applied: %+v", r)
	}
}
